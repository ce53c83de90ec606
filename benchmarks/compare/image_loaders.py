"""The libraries of `compare.images`, each by its own best practice.

A loader prepares what need not be timed (imports, the graph) and returns `batches()`: one stream of `form.epochs`
epochs as (images [n, 224, 224, 3], labels [n]) pairs.

Tried without gain: for tf.data a private thread pool, parallel batching and a fixed parallelism; for DALI more threads
than cores and the dynamic executor. DALI is asked batch by batch through `schedule_run`, so that it computes nothing
for the next repetition.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.compare.image_corpus import listing
from benchmarks.compare.image_eager import Load, opencv, pillow
from benchmarks.compare.image_forms import AREA, CENTRE, CORES, MEAN, RATIO, SIDE, STD, Form

Batches = Callable[[], Iterable[tuple[Any, Any]]]


def penstock(form: Form) -> Batches:
    import penstock as ps

    decode = ps.io.decode_jpeg if form.is_jpeg else ps.io.decode_png

    def train_bytes(path: Any, label: Any) -> Any:
        image = decode(ps.io.read_file(path), channels=3)
        image = ps.image.random_resized_crop(image, (SIDE, SIDE), AREA, RATIO)
        return ps.image.random_flip_left_right(image), label

    def train(path: Any, label: Any) -> Any:
        image, label = train_bytes(path, label)
        return ps.image.normalize(image, MEAN, STD), label

    def validation(path: Any, label: Any) -> Any:
        image = ps.image.central_crop(decode(ps.io.read_file(path), channels=3), CENTRE)
        image = ps.image.resize(image, (SIDE, SIDE))
        return ps.image.normalize(image, 255 * MEAN, 255 * STD), label

    load = validation if not form.is_random else train_bytes if form.dtype == "uint8" else train
    files = ps.Dataset.from_folder(str(form.corpus.place))
    dataset = files.shuffle().repeat(form.epochs).map(load).batch(form.batch).prefetch(ps.AUTOTUNE)
    return lambda: iter(dataset)


def tf_data(form: Form) -> Batches:
    import tensorflow as tf

    mean, std = (tf.constant(255 * values, tf.float32) for values in (MEAN, STD))

    def region(shape: Any) -> Any:
        """As top, left, height, width. TensorFlow's sampler takes 0.39 of the area on average, torchvision's 0.43."""
        if not form.is_random:
            part = tf.cast(tf.round(tf.cast(shape[:2], tf.float32) * CENTRE), tf.int32)
            return tf.concat([(shape[:2] - part) // 2, part], axis=0)
        whole = tf.zeros((1, 0, 4), tf.float32)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            shape, whole, 0, 0.1, RATIO, AREA, max_attempts=10, use_image_if_no_bounding_boxes=True
        )
        return tf.concat([begin[:2], size[:2]], axis=0)

    def load(path: Any, label: Any) -> Any:
        contents = tf.io.read_file(path)
        if form.is_jpeg:
            image = tf.image.decode_and_crop_jpeg(contents, region(tf.image.extract_jpeg_shape(contents)), channels=3)
        else:
            image = tf.io.decode_png(contents, channels=3)
            top, left, height, width = tf.unstack(region(tf.shape(image)), num=4)
            image = image[top : top + height, left : left + width]
        image = tf.image.resize(image, (SIDE, SIDE))
        if form.is_random:
            image = tf.image.random_flip_left_right(image)
        if form.dtype == "uint8":
            return tf.cast(tf.round(image), tf.uint8), label
        return (image - mean) / std, label

    paths, labels = listing(form.corpus)
    options = tf.data.Options()
    options.deterministic = False
    dataset = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(len(paths)).repeat(form.epochs)
    dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(form.batch).prefetch(tf.data.AUTOTUNE)
    dataset = dataset.with_options(options)
    return dataset.as_numpy_iterator


def dali(form: Form) -> Batches:
    from nvidia.dali import fn, pipeline_def, types

    paths, labels = listing(form.corpus)
    depth, device = 2, "cpu"

    def decoded(contents: Any) -> Any:
        if form.is_random:
            return fn.decoders.image_random_crop(
                contents, device=device, random_area=AREA, random_aspect_ratio=RATIO, num_attempts=10
            )
        edge = (1 - CENTRE) / 2
        return fn.decoders.image_slice(
            contents, device=device, rel_start=(edge, edge), rel_shape=(CENTRE, CENTRE), axis_names="HW"
        )

    @pipeline_def(batch_size=form.batch, num_threads=CORES, device_id=None, prefetch_queue_depth=depth)
    def graph() -> Any:
        contents, numbers = fn.readers.file(files=paths, labels=labels, random_shuffle=True, initial_fill=len(paths))
        images = fn.resize(decoded(contents), size=(SIDE, SIDE), interp_type=types.INTERP_LINEAR, antialias=False)
        flips = fn.random.coin_flip() if form.is_random else 0
        if form.dtype == "uint8":
            return fn.flip(images, horizontal=flips), numbers
        return fn.crop_mirror_normalize(
            images, dtype=types.FLOAT, output_layout="HWC", mean=list(255 * MEAN), std=list(255 * STD), mirror=flips
        ), numbers

    pipeline = graph()
    pipeline.build()
    assert form.epochs * len(paths) % form.batch == 0, "DALI fills the last batch up"

    def batches() -> Iterator[tuple[Any, Any]]:
        total = form.epochs * len(paths) // form.batch
        for _ in range(min(depth, total)):
            pipeline.schedule_run()
        for batch in range(total):
            images, numbers = pipeline.share_outputs()
            yield np.asarray(images.as_tensor()), np.asarray(numbers.as_tensor()).ravel()
            pipeline.release_outputs()
            if batch + depth < total:
                pipeline.schedule_run()

    return batches


def torch_pillow(form: Form) -> Batches:
    return _torch(form, pillow(form))


def torch_opencv(form: Form) -> Batches:
    return _torch(form, opencv(form))


def _torch(form: Form, load: Load) -> Batches:
    import torch
    from torch.utils.data import DataLoader, Dataset, RandomSampler

    paths, labels = listing(form.corpus)

    class Images(Dataset):
        def __len__(self) -> int:
            return len(paths)

        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            return torch.from_numpy(load(paths[index])), labels[index]

    images = Images()
    stream = RandomSampler(images, num_samples=form.epochs * len(paths))
    loader = DataLoader(images, form.batch, sampler=stream, num_workers=CORES, persistent_workers=True)
    return lambda: iter(loader)


def grain_opencv(form: Form) -> Batches:
    import grain

    load = opencv(form)
    paths, labels = listing(form.corpus)

    def row(index: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        return load(paths[index], rng), labels[index]

    rows = grain.MapDataset.range(len(paths)).seed(0).shuffle().repeat(form.epochs).random_map(row)
    # 16 threads, Grain's default, cost 15 % of the rate on two cores; whole batches made in threads, 7 %
    loader = rows.to_iter_dataset(grain.ReadOptions(num_threads=2 * CORES, prefetch_buffer_size=2 * form.batch)).batch(
        form.batch
    )
    return lambda: iter(loader)


def pool_opencv(form: Form) -> Batches:
    load = opencv(form)
    paths, labels = listing(form.corpus)
    pool = ThreadPoolExecutor(CORES)
    chunk, ahead = 8, 2

    def fill(rows: list[int], out: np.ndarray) -> None:
        for place, row in enumerate(rows):
            load(paths[row], out=out[place])

    def start(rows: list[int]) -> tuple[list[Future[None]], np.ndarray, np.ndarray]:
        out = np.empty((len(rows), SIDE, SIDE, 3), form.dtype)
        parts = [slice(first, first + chunk) for first in range(0, len(rows), chunk)]
        return [pool.submit(fill, rows[part], out[part]) for part in parts], out, np.array([labels[r] for r in rows])

    def batches() -> Iterator[tuple[Any, Any]]:
        generator = np.random.default_rng()
        order = np.concatenate([generator.permutation(len(paths)) for _ in range(form.epochs)]).tolist()
        started: collections.deque[Any] = collections.deque()
        for first in range(0, len(order), form.batch):
            started.append(start(order[first : first + form.batch]))
            if len(started) > ahead:
                yield _finished(started.popleft())
        while started:
            yield _finished(started.popleft())

    return batches


def _finished(batch: tuple[list[Future[None]], np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    parts, images, labels = batch
    for part in parts:
        part.result()
    return images, labels
