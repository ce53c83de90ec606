"""tf.data by its own best practice: only the region is decoded, the map runs in parallel, batches are prefetched."""

from __future__ import annotations

from typing import Any

from penstock.cli.demo.job import AREA_RANGE, ASPECT_RATIO_RANGE, Job

NAME = "tf.data"


def training(job: Job) -> Any:
    """A `tf.data.Dataset` of one epoch per iteration."""
    import tensorflow as tf

    part = job.photos.training
    load = _load_region if job.photos.has_png else _load_jpeg_region

    def augmented(path: Any, label: Any) -> Any:
        image = tf.image.resize(load(path), (job.image_size, job.image_size))
        return tf.image.random_flip_left_right(image) / 255.0, label

    return (
        tf.data.Dataset.from_tensor_slices((list(part.paths), list(part.labels)))
        .shuffle(len(part), seed=job.seed)
        .map(augmented, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(job.batch_size, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )


def validation(job: Job) -> Any:
    import tensorflow as tf

    part = job.photos.validation

    def scaled(path: Any, label: Any) -> Any:
        image = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
        return tf.image.resize(image, (job.image_size, job.image_size)) / 255.0, label

    return (
        tf.data.Dataset.from_tensor_slices((list(part.paths), list(part.labels)))
        .map(scaled, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(job.batch_size)
        .prefetch(tf.data.AUTOTUNE)
    )


def _load_jpeg_region(path: Any) -> Any:
    import tensorflow as tf

    data = tf.io.read_file(path)
    begin, size = _region(tf.io.extract_jpeg_shape(data))
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    return tf.image.decode_and_crop_jpeg(data, window, channels=3)


def _load_region(path: Any) -> Any:
    import tensorflow as tf

    image = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
    begin, size = _region(tf.shape(image))
    return tf.slice(image, begin, size)


def _region(shape: Any) -> tuple[Any, Any]:
    import tensorflow as tf

    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape,
        bounding_boxes=tf.zeros((1, 0, 4)),
        area_range=AREA_RANGE,
        aspect_ratio_range=ASPECT_RATIO_RANGE,
        use_image_if_no_bounding_boxes=True,
    )
    return begin, size
