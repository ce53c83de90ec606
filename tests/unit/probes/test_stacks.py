from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from penstock.probes.calls import call_at, is_decoding
from penstock.probes.fetching import Fetches, Seen, seen_of, with_fetches
from penstock.probes.place import is_users, label_of, user_place
from penstock.probes.stacks import Samples, Spot, StackSampler, doing_of, spot_of
from penstock.probes.timings import Timings
from penstock.telemetry.trace import Consumer, StageTrace, Trace
from penstock.testing import __file__ as ours
from tests.unit.probes.test_watch import batches, watched

CODE = """
import threading
import time

def load(held, leave):
    held.set()
    return resize(
        leave.wait(10),
    )

def resize(value):
    return value

def chained(text):
    return text.strip().partition(
        " ")
"""


@pytest.fixture
def users(tmp_path: Path) -> ModuleType:
    """A module that the user wrote."""
    path = tmp_path / "users.py"
    path.write_text(CODE)
    module = ModuleType("users")
    exec(compile(CODE, str(path), "exec"), module.__dict__)
    return module


def test_a_sample_names_the_users_function_and_its_call(users: Any) -> None:
    held, leave = threading.Event(), threading.Event()
    thread = threading.Thread(target=users.load, args=(held, leave))
    thread.start()
    assert held.wait(10)
    samples = Samples()
    sampler = StackSampler(lambda of: samples if of == thread.ident else None, lambda: (samples,))
    while "wait" not in frame_of(thread).f_code.co_name:
        pass
    sampler.look(sys._current_frames(), 0.02)
    spot = spot_of(frame_of(thread))
    leave.set()
    thread.join()
    assert spot is not None
    assert spot.f_code is users.load.__code__
    assert (samples.rounds, samples.seconds) == (1, 0.02)
    assert not samples.spots  # it waits in the library, so it makes nothing now


def frame_of(thread: threading.Thread) -> FrameType:
    assert thread.ident is not None
    return sys._current_frames()[thread.ident]


def test_a_call_is_named_by_its_own_words(users: Any) -> None:
    code = users.load.__code__
    called = {call_at(code, 2 * number)[0] for number in range(len(code.co_code) // 2)}
    assert {"held.set", "resize", "leave.wait"} <= called
    chained = users.chained.__code__
    assert ".partition" in {call_at(chained, 2 * number)[0] for number in range(len(chained.co_code) // 2)}


def test_a_call_without_source_has_no_name() -> None:
    code = compile("print(1)", "/nowhere/at_all.py", "exec")
    assert {call_at(code, 2 * number)[0] for number in range(len(code.co_code) // 2)} == {""}


@pytest.mark.parametrize("call", ["cv2.imdecode", "tf.io.decode_jpeg", "Image.open", "torchvision.io.read_image"])
def test_calls_that_decode_are_known(call: str) -> None:
    assert is_decoding(call, test_calls_that_decode_are_known.__code__)
    assert not is_decoding("resize", test_calls_that_decode_are_known.__code__)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells it on Linux alone")
def test_a_thread_that_sleeps_is_known_to() -> None:
    leave = threading.Event()

    def sleep() -> None:
        while not leave.is_set():
            time.sleep(0.2)

    thread = threading.Thread(target=sleep)
    thread.start()
    assert thread.ident is not None
    seen: set[str] = set()
    deadline = time.monotonic() + 5
    while "sleep" not in seen and time.monotonic() < deadline:
        seen.add(doing_of(thread.ident))
    leave.set()
    thread.join()
    assert seen & {"sleep", "unknown"}  # unknown: a kernel that keeps system calls to itself


def test_libraries_are_not_the_users() -> None:
    assert is_users(test_libraries_are_not_the_users.__code__)
    assert not is_users(threading.Thread.run.__code__)
    assert not is_users(pytest.fixture.__code__)
    assert not is_users(compile("1", "<string>", "eval"))
    assert not is_users(compile("1", ours, "eval"))


def test_places_are_the_users_own() -> None:
    line = sys._getframe().f_lineno + 1
    assert user_place() == f"tests/unit/probes/test_stacks.py:{line}"
    assert label_of(frame_of).startswith("frame_of at tests/unit/probes/test_stacks.py:")
    assert label_of(len) == "len"


def seen(function: str, op: str, doing: Any, count: int) -> Seen:
    return Seen(function, op, "train.py:9", doing, count)


def some_trace() -> Trace:
    loader, _ = watched(batches(4, 4))
    list(loader)
    from dataclasses import replace

    stage = StageTrace(id="loader", kind="loader", label="DataLoader", workers=2, executor="processes")
    return replace(loader.trace(), stages=(stage,), consumer=Consumer(steps=2))


def test_timed_elements_become_a_step_with_its_ops() -> None:
    one, other = Timings(), Timings()
    for n in range(8):
        one.add(n, 0.01)
        other.add(100 + n, 0.03)
    fetches = [
        Fetches(
            "Photos.__getitem__ at train.py:5", 1, "0", one, 0.1, (seen("f", "decode_image", "native", 6),), 10, 0.02
        ),
        Fetches("Photos.__getitem__ at train.py:5", 1, "1", other, 0.1, (seen("f", "f.read", "storage", 2),), 10, 0.02),
    ]
    trace = with_fetches(some_trace(), fetches)
    step, decode, read, collate = trace.steps
    assert (step.label, step.elements, step.part_of) == ("Photos.__getitem__ at train.py:5", 16, "")
    assert step.busy_s == pytest.approx(0.32)
    assert step.storage_s == pytest.approx(0.08)
    assert step.element_s is not None
    assert step.element_s[3] == 0.03
    assert {slow.seconds for slow in step.slow} == {0.03}
    assert (decode.verb, decode.part_of, decode.busy_s) == ("decode_image", "elements", pytest.approx(0.24))
    assert (read.verb, read.storage_s) == ("read", pytest.approx(0.08))
    assert collate.busy_s == 0.2
    assert [(worker.id, worker.elements) for worker in trace.workers] == [("0", 8), ("1", 8)]
    assert any("samples of stacks" in note for note in trace.notes)


def test_functions_that_were_not_timed_become_steps_by_their_samples() -> None:
    spots = (
        seen("slow at t.py:1", "", "python", 30),
        seen("read at t.py:5", "f.read", "storage", 10),
        seen("x", "", "sleep", 1),
    )
    trace = with_fetches(some_trace(), [Fetches(seen=spots, rounds=50, interval_s=0.02)])
    steps = [step for step in trace.steps if not step.part_of]
    assert [(step.label, step.busy_s) for step in steps] == [("slow at t.py:1", 0.6), ("read at t.py:5", 0.2)]
    assert (steps[0].gil_s, steps[0].cpu_s, steps[1].storage_s) == (0.6, 0.6, 0.2)


def test_functions_called_by_an_op_of_a_profile_stand_in_its_place() -> None:
    from dataclasses import replace

    from penstock.telemetry.trace import StepTrace

    own = StepTrace(id="map 0", verb="map", label="map of load", stage="loader", busy_s=5.0)
    op = StepTrace(id="map 0 PyFunc", verb="PyFunc", label="PyFunc", stage="loader", part_of="map 0", busy_s=4.0)
    spots = (seen("count at t.py:1", "", "python", 30), seen("fetch at t.py:9", "urlopen", "storage", 10))
    trace = with_fetches(replace(some_trace(), steps=(own, op)), [Fetches(seen=spots, rounds=50, interval_s=0.02)])
    step, count, fetch = trace.steps
    assert (step.label, step.busy_s, step.gil_s, step.storage_s) == ("map of load", 5.0, 3.0, 1.0)
    assert [(one.verb, one.label, one.part_of, one.busy_s) for one in (count, fetch)] == [
        ("count", "count at t.py:1", "map 0", 3.0), ("fetch", "fetch at t.py:9", "map 0", 1.0),
    ]  # fmt: skip


def test_nothing_noted_changes_nothing() -> None:
    trace = some_trace()
    assert with_fetches(trace, []) == trace
    assert with_fetches(trace, [Fetches()]).steps == ()


def test_fetches_are_what_was_saved(tmp_path: Path) -> None:
    made = Timings()
    made.add("dog/42.jpg", 0.5)
    fetches = Fetches("Photos", 7, "3", made, 0.25, (seen("f", "g", "native", 2),), 5, 0.02, 0.001)
    fetches.save(tmp_path / "worker.json")
    assert Fetches.load(tmp_path / "worker.json") == fetches
    assert [path.name for path in tmp_path.iterdir()] == ["worker.json"]


def test_samples_are_told_in_words() -> None:
    code = frame_of.__code__
    found = seen_of(Counter({Spot(code, 0, code, "native"): 3}))
    assert [(one.function.partition(" at ")[0], one.count) for one in found] == [("frame_of", 3)]


def test_timings_stay_small_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.probes.timings._MOST", 50)
    timings = Timings()
    for n in range(1000):
        timings.add(n, n / 1000)
    assert (timings.elements, len(timings.durations) < 100) == (1000, True)
    assert timings.quantiles is not None
    assert timings.quantiles[0] == pytest.approx(0.5, abs=0.05)
    assert timings.quantiles[3] == 0.999
    assert [slow.origin for slow in timings.slow] == [str(n) for n in range(999, 991, -1)]
