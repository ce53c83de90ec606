"""What Keras does with an adapter, on the backend named by KERAS_BACKEND; run by test_keras.py, once per backend.

The model passes on its inputs, which are the numbers of the samples, so a metric inside the compiled step can count how
often each was seen: `once` is the largest distance from exactly once, `torn` the largest from inputs to targets.
"""

from __future__ import annotations

import gc
import os
import warnings
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import keras
import numpy as np
import pytest
from keras import ops

import penstock as ps
from penstock.adapters import keras as adapter_module
from penstock.adapters.keras import to_keras
from penstock.adapters.keras_multi_worker import repair_multi_worker
from penstock.block.spec import Spec
from penstock.errors import InvalidArgumentError, UnsupportedValueError
from tests.framework.fake_feed import PAIR_SPEC, ROW, FakeFeed, as_pair
from tests.framework.recycling import RingPool

BACKEND = keras.backend.backend()
if BACKEND == "tensorflow":
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
on_tensorflow = pytest.mark.skipif(BACKEND != "tensorflow", reason="TensorFlow's own")
on_jax = pytest.mark.skipif(BACKEND != "jax", reason="JAX's own")


class Once(keras.metrics.Metric):
    def __init__(self, samples: int, name: str = "once") -> None:
        super().__init__(name=name)
        self.samples = samples
        self.counts = self.add_weight(shape=(samples,), initializer="zeros", name="counts")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        seen = ops.one_hot(ops.cast(ops.round(ops.reshape(y_pred, (-1,))), "int32"), self.samples)
        self.counts.assign(self.counts + ops.sum(ops.cast(seen, "float32"), axis=0))

    def result(self) -> Any:
        return ops.max(ops.abs(self.counts - 1.0))


class Torn(keras.metrics.Metric):
    def __init__(self) -> None:
        super().__init__(name="torn")
        self.worst = self.add_weight(shape=(), initializer="zeros", name="worst")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        difference = ops.abs(ops.reshape(y_true, (-1,)) - ops.reshape(y_pred, (-1,)))
        self.worst.assign(ops.maximum(self.worst, ops.max(ops.cast(difference, "float32"))))

    def result(self) -> Any:
        return self.worst + 0.0


class PassOn(keras.layers.Layer):
    """The mean of a row, plus nothing that depends on a weight; a little work, so that something can overlap."""

    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(shape=(), initializer="zeros", name="scale")

    def call(self, inputs: Any) -> Any:
        rows = inputs["image"] if isinstance(inputs, dict) else inputs
        work = ops.sum(ops.matmul(rows, ops.transpose(rows)))
        return ops.mean(rows, axis=1, keepdims=True) + 0.0 * self.scale * work


class Untrained(keras.losses.Loss):
    def call(self, y_true: Any, y_pred: Any) -> Any:
        return 0.0 * y_pred


def build(samples: int, **options: Any) -> Any:
    model = keras.Sequential([PassOn()])
    metrics = [Once(samples), Torn()]
    model.compile("sgd", Untrained(), metrics=metrics, **options)
    return model


def fit(feed: FakeFeed, model: Any = None, **arguments: Any) -> dict[str, list[float]]:
    """The history of a fit. Nothing of the feed is open afterwards."""
    model = build(feed.samples) if model is None else model
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Your input ran out of data")  # it does, where no length is known
        history = model.fit(to_keras(feed), verbose=0, **arguments).history
    del model
    gc.collect()
    assert feed.live == 0
    return history


def test_fit_sees_each_sample_once_per_epoch_and_no_torn_batch() -> None:
    feed = FakeFeed(samples=330, cardinality=83)
    history = fit(feed, epochs=3)
    assert (history["once"], history["torn"]) == ([0, 0, 0], [0, 0, 0])
    assert feed.opened == [0, 1, 2]


def test_fit_of_unknown_length_sees_each_sample_once_per_epoch() -> None:
    feed = FakeFeed(cardinality=-2)
    history = fit(feed, epochs=2)
    assert (history["once"], history["torn"]) == ([0, 0], [0, 0])
    assert feed.opened == [0, 1]


def test_fit_goes_on_with_the_next_epoch() -> None:
    feed = FakeFeed()
    model, data = build(feed.samples), to_keras(feed)
    model.fit(data, epochs=2, verbose=0)
    model.fit(data, epochs=1, verbose=0)
    assert feed.opened == [0, 1, 2]


def test_validation_data_is_seen_whole_after_each_epoch() -> None:
    validation = FakeFeed()
    history = fit(FakeFeed(), epochs=2, validation_data=to_keras(validation))
    assert (history["once"], history["val_once"], history["val_torn"]) == ([0, 0], [0, 0], [0, 0])
    assert (validation.opened, validation.live) == ([0, 1], 0)


def test_one_adapter_serves_training_and_validation_at_once() -> None:
    feed = FakeFeed(cardinality=-1, samples=24)
    model, data = build(feed.samples), to_keras(feed)
    history = model.fit(data, epochs=2, steps_per_epoch=6, validation_data=data, validation_steps=6, verbose=0).history
    assert (history["once"], history["val_once"]) == ([0, 0], [0, 0])


def test_steps_per_epoch_of_an_endless_feed_go_on_where_the_last_ended() -> None:
    feed = FakeFeed(cardinality=-1, samples=24)
    history = fit(feed, epochs=3, steps_per_epoch=6)
    assert history["once"] == [0, 0, 0]
    assert feed.opened == [0]


class Ever(Once):
    """How often each sample was seen since training began: the least and the most are the same after whole passes."""

    def reset_state(self) -> None:
        """Nothing: epochs of the loop do not matter."""

    def result(self) -> Any:
        return ops.max(self.counts) * 100 + ops.min(self.counts)


def test_virtual_epochs_take_their_steps_and_leave_nothing_out() -> None:
    model = keras.Sequential([PassOn()])
    model.compile("sgd", Untrained(), metrics=[Ever(28)])
    data = rows(28).batch(4).repeat().to_keras()
    history = model.fit(data, epochs=7, steps_per_epoch=3, verbose=0).history
    assert int(model.optimizer.iterations) == 21
    assert (history["once"][0], history["once"][-1]) == (100, 303)


def test_steps_that_do_not_divide_an_epoch_end_it_as_for_any_input_of_keras() -> None:
    feed, model = FakeFeed(samples=28, cardinality=7), build(28)
    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(to_keras(feed), epochs=4, steps_per_epoch=3, verbose=0)
    assert int(model.optimizer.iterations) == 10
    gc.collect()
    assert (feed.opened[:2], feed.live) == ([0, 1], 0)


def test_an_unknown_length_makes_no_step_more_than_there_are_batches() -> None:
    feed, model = FakeFeed(cardinality=-2), build(22)
    fit(feed, model, epochs=2)
    assert int(model.optimizer.iterations) == 12


@pytest.mark.skipif(BACKEND == "torch", reason="Keras refuses it on PyTorch")
def test_steps_per_execution_leave_nothing_out() -> None:
    feed = FakeFeed()
    history = fit(feed, build(feed.samples, steps_per_execution=4), epochs=2)
    assert (history["once"], history["torn"]) == ([0, 0], [0, 0])


def test_evaluate_sees_each_sample_once() -> None:
    feed = FakeFeed()
    model = build(feed.samples)
    for _ in range(2):
        result = model.evaluate(to_keras(feed), verbose=0, return_dict=True)
        assert (result["once"], result["torn"]) == (0, 0)
    assert feed.live == 0


@pytest.mark.parametrize("cardinality", [6, -2])
def test_predict_keeps_the_order(cardinality: int) -> None:
    feed = FakeFeed(cardinality=cardinality)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Your input ran out of data")
        predicted = build(feed.samples).predict(to_keras(feed), verbose=0)
    assert predicted.ravel().tolist() == list(range(22))


def test_dicts_of_inputs_are_taken() -> None:
    def make(ids: np.ndarray, pool: Any) -> Any:
        return {"image": pool.array(np.repeat(ids[:, None], ROW, axis=1)), "extra": pool.array(ids)}, pool.array(ids)

    spec = ({"image": PAIR_SPEC[0], "extra": PAIR_SPEC[1]}, PAIR_SPEC[1])
    history = fit(FakeFeed(make=make, element_spec=spec), epochs=1)
    assert (history["once"], history["torn"]) == ([0], [0])


def with_weights(feed: FakeFeed, weigh: Any) -> FakeFeed:
    def make(ids: np.ndarray, pool: Any) -> Any:
        return *as_pair(ids, pool), pool.array(weigh(ids))

    feed.make, feed.element_spec = make, (*PAIR_SPEC, PAIR_SPEC[1])
    return feed


def test_sample_weights_are_taken() -> None:
    feed = with_weights(FakeFeed(), np.array)
    assert fit(feed, build_weighed(), epochs=2)["weighed"] == [231, 231]


def native(adapter: Any) -> Any:
    """The iterator that `fit` reads on this backend."""
    give = {
        "tensorflow": adapter.get_tf_dataset,
        "jax": adapter.get_jax_iterator,
        "torch": adapter.get_torch_dataloader,
    }
    return iter(give[BACKEND]())


def address(array: Any) -> int:
    return int(np.asarray(array).__array_interface__["data"][0])


class Noted:
    """A feed that notes the addresses of what passes."""

    def __init__(self, feed: Any) -> None:
        self._feed = feed
        self.addresses: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._feed, name)

    def open(self, epoch: int | None = None, start: int = 0) -> Any:
        self.batches = self._feed.open(epoch, start)
        return self

    def __iter__(self) -> Noted:
        return self

    def __next__(self) -> Any:
        batch = next(self.batches)
        self.addresses.extend(address(leaf) for leaf in batch)
        return batch

    def close(self) -> None:
        self.batches.close()


def as_framework_has_it(batch: Any) -> Any:
    """What a step is given: JAX puts NumPy's arrays on its device itself."""
    if BACKEND != "jax":
        return batch
    import jax

    return jax.device_put(batch)


def test_batches_of_a_dataset_reach_the_framework_at_their_address() -> None:
    adapter = rows(64).shuffle().batch(16).to_keras()
    adapter.feed = noted = Noted(adapter.feed)
    kept = [as_framework_has_it(batch) for batch in native(adapter)]
    if BACKEND == "jax":
        given = [leaf.unsafe_buffer_pointer() for batch in kept for leaf in batch]
    else:
        given = [address(leaf) for batch in kept for leaf in batch]
    assert given == noted.addresses
    assert len(set(given)) == 8
    assert all(where % 64 == 0 for where in given)


def ids_of_kept_batches(feed: FakeFeed) -> list[int]:
    """Every batch of an epoch is kept, as a framework that runs ahead keeps them, and read at the end."""
    kept = [as_framework_has_it(batch) for batch in native(to_keras(feed))]
    return [int(number) for inputs, _ in kept for number in np.asarray(inputs)[:, 0]]


def test_kept_batches_stay_whole_and_would_not_if_buffers_took_turns() -> None:
    assert ids_of_kept_batches(FakeFeed()) == list(range(22))
    fourth, fifth = list(range(12, 16)), list(range(16, 20))
    by_turn = ids_of_kept_batches(FakeFeed(pool=RingPool(2)))
    assert by_turn == [*fifth, *fourth, *fifth, *fourth, *fifth, 20, 21]  # each overwritten by those after it


@pytest.mark.skipif(BACKEND != "torch", reason="PyTorch's own")
def test_batches_are_copied_to_a_gpu_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.adapters.torch import CopyAhead
    from tests.framework.fake_cuda import CopierToCpu

    copier = CopierToCpu(monkeypatch)
    monkeypatch.setattr(adapter_module, "mover_to", lambda device: CopyAhead(copier, ahead=2))
    feed = FakeFeed()
    history = fit(feed, epochs=2, validation_data=to_keras(FakeFeed()))
    assert (history["once"], history["torn"], history["val_once"]) == ([0, 0], [0, 0], [0, 0])
    assert copier.cuda.notes.count("record on side") >= 4 * 6
    assert feed.opened == [0, 1]


def rows(samples: int) -> ps.Dataset:
    ids = np.arange(samples, dtype=np.float32)
    return ps.Dataset.from_tensor_slices((np.repeat(ids[:, None], ROW, axis=1), ids))


def test_a_dataset_is_fed_whole_shuffled_and_untorn() -> None:
    model = build(1000)
    data = rows(1000).shuffle().batch(8).prefetch(4).to_keras()
    assert (data.num_batches, data.batch_size, data.has_partial_batch) == (125, 8, False)
    history = model.fit(data, epochs=3, validation_data=rows(1000).batch(7).to_keras(), verbose=0).history
    assert (history["once"], history["torn"]) == ([0] * 3, [0] * 3)
    assert (history["val_once"], history["val_torn"]) == ([0] * 3, [0] * 3)


def test_a_dataset_of_unknown_length_is_fed_whole() -> None:
    dataset = rows(200).filter(lambda row, number: number < 100).batch(8)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Your input ran out of data")
        history = build(100).fit(dataset.to_keras(), epochs=2, verbose=0).history
    assert (history["once"], history["torn"]) == ([0, 0], [0, 0])


def test_a_dataset_of_text_is_refused_or_fed() -> None:
    dataset = ps.Dataset.from_tensor_slices(["a", "b"]).batch(2)
    if BACKEND == "tensorflow":
        assert next(iter(dataset.to_keras().get_tf_dataset())).numpy().tolist() == [b"a", b"b"]
    else:
        with pytest.raises(UnsupportedValueError, match="text"):
            dataset.to_keras()


def test_unaligned_and_read_only_arrays_are_taken() -> None:
    def make(ids: np.ndarray, pool: Any) -> Any:
        inputs = np.empty(ids.size * ROW + 1, np.float32)[1:].reshape(ids.size, ROW)
        inputs[...] = ids[:, None]
        targets = ids.copy()
        targets.flags.writeable = False
        return inputs, targets

    history = fit(FakeFeed(make=make), epochs=1)
    assert (history["once"], history["torn"]) == ([0], [0])


def test_a_failing_feed_ends_the_fit_and_is_closed() -> None:
    feed = FakeFeed(fail_at=3)
    with pytest.raises(RuntimeError, match="no more"):
        build(feed.samples).fit(to_keras(feed), verbose=0)
    gc.collect()
    assert feed.live == 0


def test_stopping_half_way_closes_the_feed() -> None:
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.model.stop_training = batch == 2

    feed = FakeFeed()
    fit(feed, epochs=5, callbacks=[Stop()])
    assert feed.opened == [0]


def test_keras_that_is_installed_takes_a_data_adapter() -> None:
    from keras.src.trainers.data_adapters import get_data_adapter

    adapter = to_keras(FakeFeed())
    assert get_data_adapter(adapter) is adapter


def test_keras_that_takes_no_data_adapter_is_fed_right_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter_module, "_data_adapter", lambda: None)
    feed = FakeFeed()
    history = fit(feed, epochs=2)
    assert (history["once"], history["torn"]) == ([0, 0], [0, 0])


@pytest.mark.skipif(BACKEND == "tensorflow", reason="tf.data may be of unknown length")
def test_a_py_dataset_must_know_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter_module, "_data_adapter", lambda: None)
    with pytest.raises(InvalidArgumentError, match="how many batches"):
        to_keras(FakeFeed(cardinality=-2))


class Weighed(keras.metrics.Metric):
    """The sum of the weights that reached the compiled step."""

    def __init__(self) -> None:
        super().__init__(name="weighed")
        self.total = self.add_weight(shape=(), initializer="zeros", name="total")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.total.assign(self.total + ops.sum(ops.cast(sample_weight, "float32")))

    def result(self) -> Any:
        return self.total + 0.0


def build_weighed() -> Any:
    model = keras.Sequential([PassOn()])
    model.compile("sgd", Untrained(), weighted_metrics=[Weighed()])
    return model


def test_class_weight_becomes_weights_of_samples_and_of_that_fit_alone() -> None:
    feed = FakeFeed()
    model, data = build_weighed(), to_keras(feed)
    validation = to_keras(with_weights(FakeFeed(), lambda ids: np.full_like(ids, 2)))
    history = model.fit(data, class_weight={0: 10.0, 21: 0.5}, epochs=2, validation_data=validation, verbose=0).history
    assert (history["weighed"], history["val_weighed"]) == ([30.5] * 2, [44] * 2)
    plain = fit(feed, build(22), epochs=1)
    assert (plain["once"], plain["torn"]) == ([0], [0])


def test_class_weight_weighs_as_keras_itself_does() -> None:
    from keras.src.trainers.data_adapters.data_adapter_utils import class_weight_to_sample_weights

    from penstock.adapters.class_weight import weigher

    draw = np.random.default_rng(0)
    named = {0: 0.25, 2: 4.0, 3: 1.5}
    numbers = draw.integers(0, 5, 40)
    for targets in (numbers, numbers[:, None], numbers + draw.uniform(-0.4, 0.4, 40), np.eye(5)[numbers]):
        _, _, weights = weigher(named)((numbers, targets))
        assert np.array_equal(weights, class_weight_to_sample_weights(targets, named))


def test_class_weight_beside_weights_is_refused() -> None:
    feed = with_weights(FakeFeed(), np.ones_like)
    with pytest.raises(InvalidArgumentError, match="class_weight needs"):
        build_weighed().fit(to_keras(feed), class_weight={0: 2.0}, verbose=0)
    gc.collect()
    assert feed.live == 0


def test_a_dataset_given_as_it_is_names_the_remedy() -> None:
    dataset = rows(20).batch(4)
    with pytest.raises(InvalidArgumentError, match=r"give it dataset\.to_keras\(\)"):
        build(20).fit(dataset, verbose=0)
    with pytest.raises(InvalidArgumentError, match=r"give it dataset\.to_keras\(\)"):
        build(20).fit(dataset.to_keras(), validation_data=dataset, verbose=0)


@pytest.mark.parametrize("name", ["y", "sample_weight"])
def test_what_belongs_into_the_elements_is_refused(name: str) -> None:
    feed = FakeFeed()
    with pytest.raises(InvalidArgumentError, match=f"fit: {name} was given"):
        build(feed.samples).fit(to_keras(feed), verbose=0, **{name: np.zeros(22)})


def text(ids: np.ndarray, pool: Any) -> Any:
    return np.array([b"one"] * ids.size, object), pool.array(ids)


TEXT_SPEC = (Spec((None,), bytes), PAIR_SPEC[1])


@pytest.mark.skipif(BACKEND == "tensorflow", reason="TensorFlow has strings")
@pytest.mark.parametrize("spec", [TEXT_SPEC, None])
def test_text_is_refused(spec: Any) -> None:
    feed = FakeFeed(make=text, element_spec=spec)
    with pytest.raises(UnsupportedValueError, match="text"):
        build(feed.samples).fit(to_keras(feed), verbose=0)


@on_tensorflow
def test_text_becomes_strings() -> None:
    import tensorflow as tf

    for inputs, _ in to_keras(FakeFeed(make=text, element_spec=TEXT_SPEC)).get_tf_dataset():
        assert inputs.dtype == tf.string
        assert inputs.numpy()[0] == b"one"
        break


@on_tensorflow
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("cardinality", [6, -2])
def test_replicas_see_each_sample_once_and_no_torn_batch(devices: int, cardinality: int) -> None:
    import tensorflow as tf

    feed, validation = FakeFeed(cardinality=cardinality), FakeFeed(cardinality=cardinality)
    names = [f"/cpu:{number}" for number in range(devices)]
    with tf.distribute.MirroredStrategy(names, tf.distribute.ReductionToOneDevice()).scope():
        model = build(feed.samples)
    history = fit(feed, model, epochs=2, validation_data=to_keras(validation))
    assert (history["once"], history["torn"], history["val_once"], history["val_torn"]) == ([0, 0],) * 4
    assert (feed.opened, validation.opened) == ([0, 1], [0, 1])
    predicted = model.predict(to_keras(validation), verbose=0)
    assert predicted.ravel().tolist() == list(range(22))


@on_tensorflow
def test_what_is_broken_under_several_workers_is_repaired_once_and_put_back() -> None:
    from keras.src.backend.tensorflow import trainer

    before = trainer.TensorFlowTrainer._maybe_symbolic_build, trainer.reduce_per_replica
    repaired, undo = repair_multi_worker()
    again, _ = repair_multi_worker()
    assert again == ()  # what works is left alone, so a Keras that is put right will be
    undo()
    assert (trainer.TensorFlowTrainer._maybe_symbolic_build, trainer.reduce_per_replica) == before
    assert repair_multi_worker()[0] == repaired
    undo()


@on_tensorflow
def test_replicas_that_do_not_divide_the_batch_are_refused() -> None:
    import tensorflow as tf

    feed = FakeFeed(batch_size=5, cardinality=5)
    with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"], tf.distribute.ReductionToOneDevice()).scope():
        model = build(feed.samples)
    with pytest.raises(InvalidArgumentError, match=r"got batch\(5\).*say batch\(4\)"):
        model.fit(to_keras(feed), verbose=0)


@on_jax
def test_two_devices_share_each_batch_and_one_that_does_not_divide_is_refused_first() -> None:
    keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))
    try:
        history = fit(FakeFeed(samples=22, batch_size=4), epochs=2)
        uneven = FakeFeed(samples=21, batch_size=4)
        with pytest.raises(InvalidArgumentError, match=r"1 rows, expected a multiple of 2; say .*drop_remainder"):
            build(21).fit(to_keras(uneven), verbose=0)
    finally:
        keras.distribution.set_distribution(None)
    assert (history["once"], history["torn"]) == ([0, 0], [0, 0])
    assert uneven.opened == []


def test_what_is_no_batch_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"leaf '1' is a single value.*add \.batch"):
        to_keras(FakeFeed(element_spec=(Spec((8,), "float32"), Spec((), "int64"))))
    with pytest.raises(InvalidArgumentError, match="has no batch"):
        to_keras(FakeFeed(cardinality=0))
    with pytest.raises(InvalidArgumentError, match="too many parts"):
        to_keras(FakeFeed(element_spec=(PAIR_SPEC[0],) * 4))
