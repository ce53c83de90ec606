"""Whatever ends an iterator, and whenever: nothing hangs, nothing stays, nothing delivered is touched again.

Order between threads is made with events, never by waiting a while. An autouse fixture fails a test that leaves a
thread.
"""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from penstock import Dataset, Options, Spec
from penstock.errors import ClosedError, UserFunctionError
from penstock.testing import assert_same_elements, collect, freeze
from tests.conformance.registry import add_one, double, is_even, numbers, stream, wide

PATIENCE_S = 60
PIPELINES: dict[str, Callable[[], Dataset]] = {
    "indexed": lambda: numbers(10_000).shuffle().map(double).batch(7),
    "serial": lambda: numbers(10_000).map(lambda x: [x].pop()).batch(7),
    "stream": lambda: stream(10_000).map(double).filter(is_even).shuffle(50).batch(7),
    "endless": lambda: numbers(100).shuffle().repeat().map(double),
    "prefetch": lambda: stream(10_000).batch(7).prefetch(100),
}


@pytest.fixture(params=PIPELINES)
def pipeline(request: pytest.FixtureRequest) -> Dataset:
    return PIPELINES[request.param]()


# --- ways to end ------------------------------------------------------------------------------------------------------


def test_break_out_of_a_loop(pipeline: Dataset) -> None:
    for _ in pipeline:
        break


def test_close_then_next_stops(pipeline: Dataset) -> None:
    iterator = iter(pipeline)
    next(iterator)
    iterator.close()
    iterator.close()
    with pytest.raises(StopIteration):
        next(iterator)
    assert list(iterator) == []


def test_close_before_the_first_element(pipeline: Dataset) -> None:
    iterator = iter(pipeline)
    iterator.close()
    assert list(iterator) == []


def test_leaving_a_with_closes(pipeline: Dataset) -> None:
    with pipeline.iterator() as iterator:
        next(iterator)
    assert list(iterator) == []


def test_abandoned_without_close(pipeline: Dataset) -> None:
    iterator = iter(pipeline)
    next(iterator)
    del iterator
    gc.collect()


def test_abandoned_in_a_cycle(pipeline: Dataset) -> None:
    holder: dict[str, Any] = {"iterator": iter(pipeline)}
    next(holder["iterator"])
    holder["self"] = holder
    del holder
    gc.collect()


def test_exception_in_the_consumer(pipeline: Dataset) -> None:
    def consume() -> None:
        for _ in pipeline:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        consume()


def test_closed_from_another_thread_while_waiting() -> None:
    entered, release = threading.Event(), threading.Event()

    def wait(x: Any) -> Any:
        entered.set()
        release.wait(PATIENCE_S)
        return x

    iterator = numbers().map(wait).iterator()
    ended: list[BaseException | str] = []

    def consume() -> None:
        try:
            ended.append(next(iterator))
        except (ClosedError, StopIteration) as error:
            ended.append(error)

    consumer = threading.Thread(target=consume)
    consumer.start()
    assert entered.wait(PATIENCE_S)
    closer = threading.Thread(target=iterator.close)
    closer.start()
    release.set()
    consumer.join(PATIENCE_S)
    closer.join(PATIENCE_S)
    assert not consumer.is_alive()
    assert not closer.is_alive()
    assert len(ended) == 1
    assert list(iterator) == []


def test_finally_of_a_generator_runs_on_close() -> None:
    ended = threading.Event()

    def generate() -> Iterator[int]:
        try:
            yield from range(10**9)
        finally:
            ended.set()

    dataset = Dataset.from_generator(generate, output_signature=Spec((), np.int64))
    for make in (
        lambda d: d,
        lambda d: d.map(double).batch(3),
        lambda d: d.take(2),
        lambda d: d.shuffle(5).prefetch(2),
    ):
        ended.clear()
        with make(dataset).iterator() as iterator:
            next(iterator)
        assert ended.wait(PATIENCE_S)


def test_generator_is_closed_once_what_is_needed_of_it_has_come() -> None:
    ended = threading.Event()

    def generate() -> Iterator[int]:
        try:
            yield from range(10**9)
        finally:
            ended.set()

    dataset = Dataset.from_generator(generate, output_signature=Spec((), np.int64)).filter(is_even).take(2)
    assert list(dataset) == [0, 2]
    assert ended.wait(PATIENCE_S)


@pytest.mark.parametrize("executor", ["threads", "inline"])
def test_generator_that_refuses_to_end(executor: Any) -> None:
    def generate() -> Iterator[int]:
        try:
            yield from range(10**9)
        finally:
            raise OSError("cannot end")

    dataset = Dataset.from_generator(generate, output_signature=Spec((), np.int64)).with_options(
        Options(executor=executor)
    )
    iterator = iter(dataset)
    next(iterator)
    try:
        iterator.close()
    except OSError as error:
        assert str(error) == "cannot end"  # noqa: PT017 - it may or may not be told; no thread may stay
    assert list(iterator) == []


def test_reading_again_after_the_end_ends_again() -> None:
    iterator = iter(numbers(3))
    assert list(iterator) == [0, 1, 2]
    assert list(iterator) == []
    with pytest.raises(StopIteration):
        next(iterator)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("executor", ["threads", "inline"])
def test_function_that_asks_to_leave(kind: type[BaseException], executor: Any) -> None:
    def leave(x: Any) -> Any:
        if x == 5:
            raise kind("now")
        return x

    with pytest.raises(kind):
        list(numbers().map(leave).with_options(Options(executor=executor)))


def test_function_that_raises_stop_iteration_does_not_end_the_data() -> None:
    def stop(x: Any) -> Any:
        if x == 5:
            raise StopIteration
        return x

    for source in (numbers, stream):
        with pytest.raises(UserFunctionError, match="StopIteration"):
            list(source().map(stop))


# --- another process --------------------------------------------------------------------------------------------------


def script(text: str, **known: Any) -> subprocess.Popen[str]:
    """A Python process that runs `text`."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **known,
    )


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "import sys; sys.exit(0)",
        "iterator.close()",
        "del iterator",
        "keep = [iterator]; keep.append(keep); del iterator",
    ],
)
def test_interpreter_exit_with_an_open_iterator(ending: str) -> None:
    process = script(f"""
        import penstock as ps, numpy as np
        def generate():
            yield from range(10**9)
        dataset = ps.Dataset.from_generator(generate, output_signature=ps.Spec((), np.int64))
        iterator = iter(dataset.map(lambda x: x + 1).shuffle(100).batch(5).prefetch(10))
        other = iter(ps.Dataset.range(10**9).shuffle().map(lambda x: [x].pop()).batch(3))
        next(iterator); next(other)
        print("read")
        {ending}
    """)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (0, "read\n", "")


@pytest.mark.parametrize("catch", [False, True])
@pytest.mark.parametrize(
    "pipeline",
    [
        "ps.Dataset.range(10**9).map(lambda x: x + 1).batch(5)",
        "ps.Dataset.range(10**9).map(lambda x: (time.sleep(0.01), x)[1]).batch(5)",
        "ps.Dataset.range(10**9).map(lambda x: [x].pop()).filter(lambda x: x < 0)",
        "ps.Dataset.range(10**9).map(lambda x: x).with_options(ps.Options(executor='inline'))",
    ],
)
def test_interrupt_ends_promptly_and_quietly(pipeline: str, catch: bool) -> None:
    process = script(f"""
        import threading, time
        import penstock as ps
        dataset = {pipeline}
        try:
            print("started", flush=True)
            for _ in dataset:
                pass
        except KeyboardInterrupt:
            if not {catch}:
                raise
            left = [t.name for t in threading.enumerate() if t.name.startswith("penstock-")]
            print("caught", left, flush=True)
    """)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    out, err = "", ""
    for _ in range(12):  # the loop may not have been reached; another interrupt then hits what it should
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=5)
            break
        except subprocess.TimeoutExpired:
            continue
    if process.poll() is None:
        process.kill()
        pytest.fail(f"not ended by interrupts: {process.communicate()}")
    if catch:
        assert out == "caught []\n"
        assert err == ""
        assert process.returncode == 0
    else:
        assert err.count("Traceback") == 1
        assert err.rstrip().endswith("KeyboardInterrupt")
        assert "penstock-worker" not in err


def test_fork() -> None:
    process = script("""
        import os
        import penstock as ps
        from penstock.errors import ForkedError

        iterator = iter(ps.Dataset.range(10_000).map(lambda x: x * 2))
        for _ in range(3):
            next(iterator)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                next(iterator)
            except ForkedError as error:
                fresh = list(ps.Dataset.range(5).with_options(ps.Options(executor="inline")))
                print("child", len(fresh), "spawn" in str(error), flush=True)
                code = 0
            finally:
                iterator.close()
                os._exit(code)
        print("parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print([int(x) for x in iterator] == list(range(6, 20_000, 2)))
    """)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (out, err) == ("child 5 True\nparent 0\nTrue\n", "")


# --- budgets and order ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [Options(ram_budget=1), Options(ram_budget=1, cpu_budget=1), Options(ram_budget=1, block_size=1)]
)
def test_budget_below_one_element_still_flows(options: Options) -> None:
    for make in (
        lambda: wide().shuffle().map(add_one).batch(4).prefetch(3),
        lambda: stream().map(lambda x: np.full(1000, x)).filter(lambda x: x[0] >= 0).shuffle(5).batch(4).map(add_one),
        lambda: Dataset.zip(stream(), wide(23).map(add_one)).repeat(2).batch(3).unbatch(),
        lambda: wide(5).concatenate(wide(6)).batch(3).cache().repeat(2).map(add_one),
    ):
        assert_same_elements(collect(make().with_options(options)), collect(make()))


@pytest.mark.parametrize("budget", [None, 1])
def test_slowest_element_first_still_flows(budget: int | None) -> None:
    others = threading.Semaphore(0)

    def slow_first(x: Any) -> Any:
        if x == 0:  # goes on only when others have gone before: there must be room to run ahead of it
            assert others.acquire(timeout=PATIENCE_S)
        else:
            others.release()
        return np.full(1000, x)

    ahead = Options(block_size=1, ram_budget=budget and 10**5)
    dataset = numbers(200).map(slow_first, num_parallel_calls=4).with_options(ahead)
    assert [int(x[0]) for x in dataset] == list(range(200))


def test_many_behind_a_slow_first_are_bounded() -> None:
    started: list[int] = []
    release = threading.Event()
    bound = threading.Event()

    def hold_first(x: Any) -> Any:
        started.append(int(x))
        if x == 0:
            assert release.wait(PATIENCE_S)
        elif len(started) >= 9:
            bound.set()
        return x

    dataset = numbers(500).map(hold_first, num_parallel_calls=4).with_options(Options(block_size=1))
    result: list[list[Any]] = []
    consumer = threading.Thread(target=lambda: result.append(list(dataset)))
    consumer.start()
    assert bound.wait(PATIENCE_S)
    assert len(started) < 50
    release.set()
    consumer.join(PATIENCE_S)
    assert [int(x) for x in result[0]] == list(range(500))


@pytest.mark.parametrize("options", [Options(), Options(ram_budget="100 kB"), Options(executor="inline")])
def test_list_of_a_large_pipeline_ends(options: Options) -> None:
    dataset = numbers(20_000).shuffle().map(lambda x: np.full(50, x)).batch(16).with_options(options)
    kept = list(dataset)
    assert sorted(int(x) for batch in kept for x in batch[:, 0]) == list(range(20_000))
    assert all((batch == batch[:, :1]).all() for batch in kept)


def test_delivered_buffers_are_not_used_again_while_held() -> None:
    dataset = Dataset.from_tensor_slices({"x": np.arange(64_000).reshape(1000, 64), "y": np.arange(1000)}).shuffle()
    for make in (
        lambda d: d.batch(8),
        lambda d: d.map(lambda e: e).batch(8),
        lambda d: d.batch(8).map(lambda e: e["x"]).batch(2),
    ):
        held, frozen = [], []
        for element in make(dataset).repeat(3):
            held.append(element)
            frozen.append(freeze(element))
        assert [freeze(element) for element in held] == frozen
    part = next(iter(dataset.batch(8)))["x"][2:4]
    before = part.copy()
    list(dataset.batch(8))
    assert (part == before).all()


def test_a_view_of_a_batch_keeps_its_memory() -> None:
    dataset = Dataset.from_tensor_slices(np.arange(640_000).reshape(10_000, 64)).batch(8)
    views = [batch[3] for batch in dataset]
    gc.collect()
    list(dataset)
    assert all((view == np.arange(64) + (8 * place + 3) * 64).all() for place, view in enumerate(views))


def test_generator_that_waits_for_the_consumer() -> None:
    """What a generator has yielded is delivered while it prepares the next: a queue fed by the training loop works."""
    taken = threading.Semaphore(1)

    def generate() -> Iterator[int]:
        for number in range(20):
            assert taken.acquire(timeout=1), "the consumer never got what was yielded before"
            yield number

    got = []
    for number in Dataset.from_generator(generate, output_signature=Spec((), np.int64)):
        got.append(int(number))
        taken.release()
    assert got == list(range(20))


def test_impure_function_runs_in_order_in_one_thread_at_a_time() -> None:
    seen: list[int] = []
    busy = threading.Lock()

    def impure(x: Any) -> Any:
        assert busy.acquire(blocking=False)
        seen.append(int(x))
        busy.release()
        return x

    for dataset in (numbers(500), stream(500), numbers(500).batch(7).unbatch()):
        seen.clear()
        assert [int(x) for x in dataset.map(impure).batch(3).unbatch()] == list(range(500))
        assert seen == list(range(500))


def test_counter_closure_counts_as_in_a_loop() -> None:
    def counted() -> Callable[[Any], Any]:
        count = 0

        def call(x: Any) -> Any:
            nonlocal count
            count += 1
            return count

        return call

    for options in (Options(), Options(block_size=1), Options(executor="inline"), Options(cpu_budget=1)):
        assert [int(x) for x in numbers().map(counted()).with_options(options)] == list(range(1, 24))
        assert [int(x) for x in stream().map(counted()).with_options(options)] == list(range(1, 24))


def test_iterators_of_one_dataset_in_many_threads() -> None:
    dataset = numbers(300).shuffle().map(double).batch(7)
    expected = [list(map(freeze, collect(dataset, epoch))) for epoch in range(6)]
    got: dict[int, list[Any]] = {}
    start = threading.Barrier(6)

    def consume() -> None:
        start.wait(PATIENCE_S)
        with dataset.iterator() as iterator:
            got[iterator.epoch] = list(map(freeze, iterator))

    consumers = [threading.Thread(target=consume) for _ in range(6)]
    for consumer in consumers:
        consumer.start()
    for consumer in consumers:
        consumer.join(PATIENCE_S)
    assert [got[epoch] for epoch in range(6)] == expected


def test_one_iterator_in_many_threads_gives_each_element_once() -> None:
    with numbers(2000).map(double).iterator() as iterator:
        got: list[int] = []
        consumers = [threading.Thread(target=lambda: got.extend(map(int, iterator))) for _ in range(4)]
        for consumer in consumers:
            consumer.start()
        for consumer in consumers:
            consumer.join(PATIENCE_S)
    assert sorted(got) == list(range(0, 4000, 2))


def test_dataset_inside_a_function_of_another() -> None:
    inner = numbers(4).map(double)
    dataset = numbers(20).map(lambda x: np.array([int(y) + int(x) for y in inner]), num_parallel_calls=2)
    assert_same_elements(list(dataset), [np.arange(0, 8, 2) + x for x in range(20)])
