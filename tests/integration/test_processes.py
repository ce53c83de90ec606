"""Worker processes as a whole: errors, deaths, signals, and what is left behind when a trainer ends in any way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options
from penstock.engine.executors import measured
from penstock.engine.executors.evidence import Verdict
from penstock.engine.executors.processes import close_shared_pool, shared_pool
from penstock.engine.operators.batching import Assembly
from penstock.errors import UnsupportedValueError, UserFunctionError, WorkerError
from penstock.testing import assert_same_elements, collect

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0


pytestmark = pytest.mark.usefixtures("warm_pool")


@pytest.fixture
def moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function that measurement may move moves with its first block."""
    monkeypatch.setattr(measured, "judge", lambda evidence, left_s: Verdict("processes"))
    monkeypatch.setattr(measured, "judge_trial", lambda evidence, trial: Verdict("measure"))


def both(build: Any) -> tuple[list[Any], list[Any]]:
    return [collect(build("threads"), 1), collect(build("processes"), 1)]  # type: ignore[return-value]


# --- errors -----------------------------------------------------------------------------------------------------------


class TwoPartsError(ValueError):
    """An exception of the user's own, with a constructor of two arguments."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(number, why)
        self.number = number


class UnpicklableError(ValueError):
    def __reduce__(self) -> Any:
        raise TypeError("no")


def fail_at(limit: int, error: Exception) -> Any:
    def call(x: int) -> int:
        if x == limit:
            raise error
        return x * 2

    return call


def test_error_keeps_class_origin_and_traceback() -> None:
    got: list[Any] = []
    dataset = Dataset.range(100).map(fail_at(37, TwoPartsError(37, "odd")), executor="processes")
    with pytest.raises(UserFunctionError, match=r"element 37 of range") as caught:
        got.extend(dataset)
    assert got == [2 * x for x in range(37)]
    cause = caught.value.__cause__
    assert type(cause) is TwoPartsError
    assert cause.number == 37
    assert "in call" in cause.__notes__[0]
    assert "raise error" in cause.__notes__[0]


def test_error_that_cannot_be_pickled_is_told_in_words() -> None:
    def call(x: int) -> int:
        raise UnpicklableError("the words")

    with pytest.raises(UserFunctionError, match="UnpicklableError: the words") as caught:
        list(Dataset.range(3).map(call, executor="processes"))
    assert "UnpicklableError: the words" in str(caught.value.__cause__)


def test_skip_keeps_what_was_skipped() -> None:
    skipped = {}
    for executor in ("threads", "processes"):
        dataset = Dataset.range(40).map(fail_at(7, ValueError("seven")), on_error="skip", executor=executor)
        with dataset.iterator(epoch=0) as iterator:
            assert [int(x) for x in iterator] == [2 * x for x in range(40) if x != 7]
            skipped[executor] = [(entry.origin, entry.error) for entry in iterator.skipped]
    assert skipped["threads"] == skipped["processes"] == [(skipped["threads"][0][0], "ValueError: seven")]


def test_exit_in_a_function_reaches_the_consumer() -> None:
    with pytest.raises(SystemExit):
        list(Dataset.range(3).map(lambda x: sys.exit(3), executor="processes"))


def test_function_that_cannot_be_pickled_is_refused() -> None:
    held = (x for x in range(3))
    with pytest.raises(UnsupportedValueError, match=r"cannot be sent to a worker process.*generator"):
        list(Dataset.range(3).map(lambda x: (x, held) and x, executor="processes"))


# --- values -----------------------------------------------------------------------------------------------------------


def test_large_arrays_come_as_views_that_are_aligned_and_writable() -> None:
    def large(x: int) -> np.ndarray:
        return np.full((160, 160, 6), x, dtype=np.float32)

    threads, processes = both(lambda executor: Dataset.range(10).map(large, executor=executor).batch(4))
    assert_same_elements(processes, threads, "processes")
    for batch in Dataset.range(10).map(large, executor="processes").batch(4):
        assert batch.ctypes.data % 64 == 0
        assert batch.flags.writeable
        assert batch.flags.c_contiguous


def test_whole_batches_lie_where_the_worker_wrote_them(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    monkeypatch.setattr(Assembly, "write", lambda self, start, block: written.append(start) or None)
    large = Dataset.range(64).map(lambda x: np.full((64, 64, 4), x), executor="processes").batch(8)
    with large.with_options(Options(block_size=8, cpu_budget=2)).iterator(epoch=0) as iterator:
        addresses = [batch.ctypes.data for batch in iterator]
    assert not written
    assert all(address % 64 == 0 for address in addresses)


def test_results_that_share_memory_stay_apart() -> None:
    """One array returned again and again, a captured one, views, and rows whose shape changes within a block."""
    held, again = np.arange(5000.0), np.zeros(4000)

    def call(x: int) -> dict[str, Any]:
        again[:] = x
        return {"again": again, "held": held, "view": held[int(x) % 7 :: 2], "turned": held.reshape(50, 100).T}

    # Not pure: threads would race for the one array, so the twin runs it on one worker, in order.
    threads, processes = (collect(Dataset.range(40).map(call, executor=place), 1) for place in ("auto", "processes"))
    assert_same_elements(processes, threads, "processes")
    flags = [
        [{key: leaf.flags.writeable for key, leaf in row.items()} for row in rows] for rows in (threads, processes)
    ]
    assert flags[0] == flags[1]


def test_short_pure_work_starts_no_worker() -> None:
    close_shared_pool()
    assert [int(x) for x in Dataset.range(9).map(lambda x: x + 1, executor="processes")] == list(range(1, 10))
    assert not shared_pool().has_workers()


def test_values_of_every_kind() -> None:
    def kinds(x: int) -> dict[str, Any]:
        return {
            "text": "ä" * int(x), "raw": b"\0" * (int(x) * 300), "big": np.arange(int(x) * 1000), "flag": bool(x % 2),
            "words": np.array(["a", "b" * int(x)]), "strided": np.arange(2000.0).reshape(40, 50)[::2, ::-1],
            "none": np.zeros((0, 3)), "half": np.float16(x),
        }  # fmt: skip

    threads, processes = both(lambda executor: Dataset.range(20).map(kinds, executor=executor))
    assert_same_elements(processes, threads, "processes")


def test_inputs_are_as_writable_as_in_threads() -> None:
    rows = np.zeros((4, 50_000))

    def write(row: np.ndarray) -> np.ndarray:
        row[0] = 1
        return row

    for executor in ("threads", "processes"):
        with pytest.raises(UserFunctionError, match="read-only"):
            list(Dataset.from_tensor_slices(rows).map(write, executor=executor))


def test_kept_batches_are_never_overwritten() -> None:
    dataset = Dataset.range(64).map(lambda x: np.full(30_000, x), executor="processes").batch(4)
    kept = list(dataset)
    list(dataset)
    assert [int(batch[i, -1]) for batch in kept for i in range(4)] == list(range(64))


def test_keeping_many_batches_holds_no_files_open() -> None:
    dataset = Dataset.range(64).map(lambda x: np.full(30_000, x), executor="processes").batch(1)
    before = len(os.listdir("/proc/self/fd"))
    kept = list(dataset)
    assert len(os.listdir("/proc/self/fd")) <= before + 2
    assert len(kept) == 64


def test_repeat_and_random_draws_are_those_of_threads() -> None:
    def build(executor: Any) -> Dataset:
        noisy = Dataset.range(30).shuffle().random_map(lambda x, rng: (x, rng.normal()), executor=executor)
        return noisy.repeat(3).batch(7)

    threads, processes = both(build)
    assert_same_elements(processes, threads, "processes")


def test_options_place_pure_functions_in_processes() -> None:
    dataset = Dataset.range(30).map(lambda x: x + 1).with_options(Options(executor="processes"))
    assert "processes" in dataset.explain()
    assert [int(x) for x in dataset] == list(range(1, 31))


def test_relative_paths_follow_the_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.txt").write_text("here")
    monkeypatch.chdir(tmp_path)
    read = Dataset.range(1).map(lambda x: ps.io.read_file("here.txt"), executor="processes")
    assert list(read) == [b"here"]


# --- deaths -----------------------------------------------------------------------------------------------------------


def test_a_killed_worker_is_replaced_and_its_block_redone(tmp_path: Path) -> None:
    marker = str(tmp_path / "died")

    def die_once(x: int, rng: ps.Rng) -> tuple[int, float]:
        if x == 11 and not os.path.exists(marker):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return x, rng.normal()

    def live(x: int, rng: ps.Rng) -> tuple[int, float]:
        return x, rng.normal()

    got = collect(Dataset.range(40).random_map(die_once, executor="processes"), 2)
    assert os.path.exists(marker)
    assert_same_elements(got, collect(Dataset.range(40).random_map(live), 2), "after a death")


def test_repeated_deaths_name_the_element() -> None:
    def die(x: int) -> int:
        if x == 11:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    got: list[Any] = []
    with pytest.raises(WorkerError, match=r"map at .*element 11 of range.*3 times; got killed by SIGKILL"):
        got.extend(Dataset.range(40).map(die, executor="processes"))
    assert got == list(range(11))
    assert [int(x) for x in Dataset.range(5).map(lambda x: x, executor="processes")] == list(range(5))


def churn(x: int) -> int:
    """A few milliseconds."""
    total = int(x)
    for step in range(50_000):
        total = (total * 31 + step) & 0xFFFF
    return total


@pytest.mark.parametrize("executor", ["auto", "processes"])
@pytest.mark.usefixtures("moves")
def test_workers_killed_from_outside_are_replaced(executor: Any) -> None:
    dataset = Dataset.range(120).map(churn, executor=executor).with_options(Options(block_size=2, cpu_budget=2))
    got, killed = [], set()
    with dataset.iterator(epoch=0) as iterator:
        for number, value in enumerate(iterator):
            got.append(int(value))
            if number in (10, 50):
                killed.update(shared_pool().pids())
                for pid in shared_pool().pids():
                    os.kill(pid, signal.SIGKILL)
        assert [s.executor for s in iterator.stats().stages if s.name.startswith("map")] == ["processes"]
    assert got == [churn(x) for x in range(120)]
    assert len(killed) >= 3
    assert not killed & set(shared_pool().pids())


@pytest.mark.usefixtures("moves")
def test_repeated_deaths_of_what_was_moved_name_the_element() -> None:
    strided = np.lib.stride_tricks.as_strided

    def crash(x: int) -> int:
        return strided(np.ones(1), (2**40,), (2**20,)).sum() if x == 11 else x

    got: list[int] = []
    dataset = Dataset.range(40).map(crash, compile=False).with_options(Options(cpu_budget=2))
    with pytest.raises(WorkerError, match=r"map at .*element 11 of range.*3 times; got killed by SIGSEGV"):
        got.extend(int(x) for x in dataset)
    assert got == list(range(11))


@pytest.mark.usefixtures("moves")
def test_errors_of_what_was_moved_are_those_of_threads() -> None:
    def fail(x: int) -> int:
        if x == 37:
            raise ValueError(f"odd {x}")
        return x * 2

    told = []
    for executor in ("auto", "threads"):
        got: list[int] = []
        with pytest.raises(UserFunctionError) as caught:
            got.extend(int(x) for x in Dataset.range(100).map(fail, executor=executor))
        told.append((got, str(caught.value), repr(caught.value.__cause__)))
    assert told[0] == told[1]


def test_a_closed_pool_is_made_anew() -> None:
    before = shared_pool().pids()
    close_shared_pool()
    assert not any(map(_is_alive, before))
    log: list[int] = []  # not pure, so it waits for a worker
    assert [int(x) for x in Dataset.range(5).map(lambda x: log.append(x) or x, executor="processes")] == list(range(5))
    assert shared_pool().has_workers()
    assert not log


# --- scripts ----------------------------------------------------------------------------------------------------------

_PIDS = """
import os, sys, time, signal
import penstock as ps
from penstock.engine.executors.processes import shared_pool

if "auto" in sys.argv:  # what measurement may move, moves
    from penstock.engine.executors import evidence, measured
    measured.judge = lambda evidence_, left_s: evidence.Verdict("processes")

def started():
    pool = shared_pool()
    pool.start(2)
    for worker in [pool.acquire(may_wait=True) for _ in range(2)]:
        pool.release(worker)
    print(*pool.pids(), flush=True)
"""


def run_script(tmp_path: Path, text: str, *, stdin: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a script (or the same from standard input) to its end."""
    text = textwrap.dedent(text)
    path = tmp_path / "script.py"
    path.write_text(text)
    command = [sys.executable, "-"] if stdin else [sys.executable, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run(
        command, input=text if stdin else None, cwd=tmp_path, env=environment, capture_output=True, text=True,
        timeout=LIMIT_S, check=False,
    )  # fmt: skip


def start_script(tmp_path: Path, text: str, *arguments: str) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a script that prints the pids of its workers, and wait until it has."""
    path = tmp_path / "script.py"
    path.write_text(_PIDS + textwrap.dedent(text))
    process = subprocess.Popen(
        [sys.executable, str(path), *arguments], env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    return process, [int(word) for word in process.stdout.readline().split()]


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def assert_all_end(pids: list[int]) -> None:
    assert len(pids) == 2
    deadline = time.monotonic() + LIMIT_S
    while any(map(_is_alive, pids)) and time.monotonic() < deadline:
        os.sched_yield()
    assert not any(map(_is_alive, pids)), "workers outlive their trainer"


@pytest.mark.parametrize("stdin", [False, True])
def test_main_is_not_run_again_and_needs_no_guard(tmp_path: Path, stdin: bool) -> None:
    done = run_script(
        tmp_path,
        """
        print("main")
        import collections, os, penstock as ps
        Pair = collections.namedtuple("Pair", "left right")
        class Mine(Exception): pass
        def work(x):
            if x == 6: raise Mine(x)
            return Pair(x, os.getpid())
        pids = set()
        try:
            for pair in ps.Dataset.range(9).map(work, executor="processes"):
                assert type(pair) is Pair
                pids.add(int(pair.right))
        except ps.errors.UserFunctionError as error:
            assert type(error.__cause__) is Mine
            print("caught", len(pids), os.getpid() in pids)
        """,
        stdin=stdin,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "main"
    assert done.stdout.splitlines()[1:] in (["caught 1 False"], ["caught 2 False"])


_BUSY = """
def busy(x):
    while True:
        pass

started()
try:
    list(ps.Dataset.range(8).map(busy, executor=sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("executor", ["auto", "processes"])
def test_workers_end_when_the_trainer_is_killed(tmp_path: Path, executor: str) -> None:
    process, pids = start_script(tmp_path, _BUSY, executor)
    process.kill()
    process.communicate(timeout=LIMIT_S)
    assert_all_end(pids)
    assert not [name for name in os.listdir("/dev/shm") if "penstock" in name]


@pytest.mark.parametrize("executor", ["auto", "processes"])
def test_workers_end_when_the_trainer_is_terminated(tmp_path: Path, executor: str) -> None:
    process, pids = start_script(tmp_path, _BUSY, executor)
    process.terminate()
    process.communicate(timeout=LIMIT_S)
    assert_all_end(pids)


@pytest.mark.parametrize("executor", ["auto", "processes"])
def test_an_interrupt_ends_all_and_workers_say_nothing(tmp_path: Path, executor: str) -> None:
    process, pids = start_script(
        tmp_path,
        """
        def work(x):
            return x

        started()
        seen = 0
        try:
            for x in ps.Dataset.range(8).repeat().map(work, executor=sys.argv[1]):
                seen += 1
                if seen == 100:
                    os.killpg(0, signal.SIGINT)  # as the terminal does: to every process of the group
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """,
        executor,
    )
    out, err = process.communicate(timeout=LIMIT_S)
    assert out == "interrupted\n"
    assert err == ""
    assert process.returncode == 0
    assert_all_end(pids)


def test_a_forked_child_does_not_keep_workers_alive(tmp_path: Path) -> None:
    process, pids = start_script(
        tmp_path,
        """
        started()
        if os.fork() == 0:
            os.close(1)
            os.close(2)
            time.sleep(30)
            os._exit(0)
        """,
    )
    process.communicate(timeout=LIMIT_S)
    assert_all_end(pids)
    os.killpg(process.pid, signal.SIGKILL)
