"""mixup and cutmix by their definition; the operations of rand_augment against Pillow's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

import penstock as ps
from penstock.errors import InvalidArgumentError
from penstock.ops.draw import draw_beta
from penstock.ops.rand_augment import OPERATIONS
from penstock.rng import Rng
from penstock.testing import assert_same_elements
from tests.unit.kernels.photos import photo

BATCH = np.random.default_rng(0).random((5, 8, 9, 3)).astype(np.float32)
ONE_HOT = np.eye(4, dtype=np.float32)[[0, 1, 2, 3, 1]]
PHOTO = photo()


# --- draws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.001, 0.2, 1.0, 4.0])
def test_draw_beta_has_the_mean_and_variance_of_the_distribution(alpha):
    drawn = np.array([draw_beta(Rng(1, number), alpha, alpha) for number in range(4000)])
    assert ((drawn >= 0) & (drawn <= 1)).all()
    assert abs(drawn.mean() - 0.5) < 5 * drawn.std() / math.sqrt(len(drawn))
    assert abs(drawn.var() - 1 / (4 * (2 * alpha + 1))) < 0.01


def test_draw_beta_leans_to_the_larger_parameter():
    drawn = np.array([draw_beta(Rng(1, number), 6.0, 2.0) for number in range(2000)])
    assert abs(drawn.mean() - 0.75) < 0.02


# --- mixup and cutmix -------------------------------------------------------------------------------------------------


def test_mixup_mixes_each_example_with_the_one_before_it():
    images, labels = ps.image.mixup(BATCH, ONE_HOT, alpha=0.4, rng=Rng(3))
    weight = draw_beta(Rng(3), 0.4, 0.4)
    np.testing.assert_allclose(images, BATCH * weight + np.roll(BATCH, 1, 0) * (1 - weight), atol=1e-6)
    np.testing.assert_allclose(labels, ONE_HOT * weight + np.roll(ONE_HOT, 1, 0) * (1 - weight), atol=1e-6)
    assert images.dtype == labels.dtype == np.float32
    np.testing.assert_allclose(labels.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
def test_mixup_keeps_the_dtype_of_images(dtype):
    batch = (BATCH * 200).astype(dtype)
    images, labels = ps.image.mixup(batch, ONE_HOT.astype(np.int64), rng=Rng(3))
    weight = draw_beta(Rng(3), 1.0, 1.0)
    assert images.dtype == dtype
    assert labels.dtype == np.float32
    exact = batch.astype(float) * weight + np.roll(batch, 1, 0).astype(float) * (1 - weight)
    assert np.abs(images.astype(float) - exact).max() <= (0.51 if dtype == "uint8" else 0.3)


def test_cutmix_replaces_one_rectangle_and_mixes_labels_by_area():
    images, labels = ps.image.cutmix(BATCH, ONE_HOT, rng=Rng(11))
    changed = (images != BATCH).all(axis=-1)
    assert (changed == changed[0]).all()
    rows, columns = np.nonzero(changed[0])
    box = (slice(rows.min(), rows.max() + 1), slice(columns.min(), columns.max() + 1))
    assert changed[0][box].all()
    np.testing.assert_array_equal(images[:, *box], np.roll(BATCH, 1, 0)[:, *box])
    left = 1 - changed[0].mean()
    np.testing.assert_allclose(labels, ONE_HOT * left + np.roll(ONE_HOT, 1, 0) * (1 - left), atol=1e-6)


def test_cutmix_leaves_what_it_was_given():
    before = BATCH.copy()
    ps.image.cutmix(BATCH, ONE_HOT, rng=Rng(11))
    ps.image.mixup(BATCH, ONE_HOT, rng=Rng(11))
    np.testing.assert_array_equal(BATCH, before)


@pytest.mark.parametrize("mix", [ps.image.mixup, ps.image.cutmix])
def test_mixing_needs_a_batch_with_one_hot_labels(mix):
    for images, labels in ((BATCH, np.arange(5)), (BATCH[0], ONE_HOT[0]), (BATCH, ONE_HOT[:3])):
        with pytest.raises(InvalidArgumentError, match="one-hot"):
            mix(images, labels)
    with pytest.raises(InvalidArgumentError, match="alpha"):
        mix(BATCH, ONE_HOT, alpha=0)


@pytest.mark.parametrize("mix", [ps.image.mixup, ps.image.cutmix])
@pytest.mark.parametrize("executor", ["threads", "processes", "inline"])
def test_mixing_in_a_pipeline_is_the_same_however_it_runs(mix, executor):
    rows = (np.tile(BATCH, (4, 1, 1, 1)), np.arange(20) % 4)
    one_hot = ps.Dataset.from_tensor_slices(rows).map(lambda x, y: (x, ps.one_hot(y, 4)))
    batches = one_hot.shuffle().batch(6).map(mix)
    assert "mixing." in batches.explain()
    got = list(batches.with_options(ps.Options(executor=executor)).iterator(epoch=2))
    eager = one_hot.shuffle().batch(6).map(mix, compile=False).with_options(ps.Options(executor="inline", block_size=1))
    assert_same_elements(got, list(eager.iterator(epoch=2)), executor)
    other = list(batches.iterator(epoch=3))
    assert not np.array_equal(got[0][0], other[0][0])


def test_one_mix_or_the_other_by_chance_compiles():
    def mix(images, labels, rng):
        mixed, cut = ps.image.mixup(images, labels), ps.image.cutmix(images, labels)
        one = rng.random() < 0.5
        return np.where(one, mixed[0], cut[0]), np.where(one, mixed[1], cut[1])

    batches = ps.Dataset.from_tensor_slices((np.tile(BATCH, (4, 1, 1, 1)), np.tile(ONE_HOT, (4, 1)))).batch(4)
    assert "= mixing.cutmix(%0, %1)" in batches.random_map(mix).explain()
    eager = list(batches.random_map(mix, compile=False).iterator(epoch=1))
    assert_same_elements(list(batches.random_map(mix).iterator(epoch=1)), eager, "mix")


# --- rand_augment -----------------------------------------------------------------------------------------------------

PILLOW = {
    "identity": lambda picture, share, sign: picture,
    "brightness": lambda picture, share, sign: ImageEnhance.Brightness(picture).enhance(1 + 0.9 * share * sign),
    "color": lambda picture, share, sign: ImageEnhance.Color(picture).enhance(1 + 0.9 * share * sign),
    "contrast": lambda picture, share, sign: ImageEnhance.Contrast(picture).enhance(1 + 0.9 * share * sign),
    "sharpness": lambda picture, share, sign: ImageEnhance.Sharpness(picture).enhance(1 + 0.9 * share * sign),
    "posterize": lambda picture, share, sign: ImageOps.posterize(picture, 8 - round(4 * share)),
    "solarize": lambda picture, share, sign: ImageOps.solarize(picture, 255 * (1 - share)),
    "autocontrast": lambda picture, share, sign: ImageOps.autocontrast(picture),
    "equalize": lambda picture, share, sign: ImageOps.equalize(picture),
}
MOVED = {
    "shear_x": lambda picture, share, sign: _transformed(picture, (1, 0.3 * share * sign, 0, 0, 1, 0)),
    "shear_y": lambda picture, share, sign: _transformed(picture, (1, 0, 0, 0.3 * share * sign, 1, 0)),
    "translate_x": lambda picture, share, sign: _transformed(
        picture, (1, 0, -int(150 / 331 * picture.width * share * sign), 0, 1, 0)
    ),
    "translate_y": lambda picture, share, sign: _transformed(
        picture, (1, 0, 0, 0, 1, -int(150 / 331 * picture.height * share * sign))
    ),
    "rotate": lambda picture, share, sign: picture.rotate(30 * share * sign, fillcolor=9),
}


def _transformed(picture, matrix):
    fill = 9 if picture.mode == "L" else (9, 9, 9)
    return picture.transform(picture.size, Image.Transform.AFFINE, matrix, Image.Resampling.NEAREST, fillcolor=fill)


def pictures():
    narrow = (PHOTO.astype(int) // 2 + 40).astype(np.uint8)
    yield from (PHOTO, narrow, PHOTO[..., :1], np.full((7, 5, 3), 80, np.uint8), PHOTO[:2, :2])


def test_every_operation_is_compared():
    assert set(PILLOW) | set(MOVED) == set(OPERATIONS)
    assert len(OPERATIONS) == 14


@pytest.mark.parametrize("name", sorted(PILLOW))
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_operation_gives_the_pixels_of_pillow(name, share, sign):
    for image in pictures():
        picture = Image.fromarray(image if image.shape[2] == 3 else image[..., 0])
        expected = np.asarray(PILLOW[name](picture, share, sign)).reshape(image.shape)
        got = OPERATIONS[name](image, share, sign, 0)
        assert got.dtype == np.uint8
        np.testing.assert_array_equal(got, expected, err_msg=f"{name} {image.shape}")


@pytest.mark.parametrize("name", sorted(MOVED))
@pytest.mark.parametrize("share", [0.0, 0.31, 1.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_operation_moves_pixels_as_pillow_does(name, share, sign):
    for image in (PHOTO, PHOTO[..., :1]):
        picture = Image.fromarray(image if image.shape[2] == 3 else image[..., 0])
        fill = 9 if image.shape[2] == 1 else (9, 9, 9)
        if name == "rotate":
            moved = picture.rotate(30 * share * sign, fillcolor=fill)
        else:
            moved = MOVED[name](picture, share, sign)
        got = OPERATIONS[name](image, share, sign, 9)
        assert (got == np.asarray(moved).reshape(image.shape)).all(axis=-1).mean() > 0.98


def test_rand_augment_draws_operations_and_directions_in_order():
    stream = Rng(5)
    expected = PHOTO
    for _ in range(3):
        name = list(OPERATIONS)[stream.integers(14)]
        expected = OPERATIONS[name](expected, 0.5, 1 - 2 * stream.integers(2), 7)
    got = ps.image.rand_augment(PHOTO, num_ops=3, magnitude=15, fill=7, rng=Rng(5))
    np.testing.assert_array_equal(got, expected)


def test_rand_augment_leaves_what_it_was_given():
    before = PHOTO.copy()
    for seed in range(20):
        ps.image.rand_augment(PHOTO, rng=Rng(seed))
    np.testing.assert_array_equal(PHOTO, before)


def test_rand_augment_refuses_what_is_not_bytes():
    with pytest.raises(InvalidArgumentError, match="before casts"):
        ps.image.rand_augment(BATCH[0])
    with pytest.raises(InvalidArgumentError, match="magnitude"):
        ps.image.rand_augment(PHOTO, magnitude=31)


@pytest.mark.parametrize("block_size", [1, 3, None])
def test_rand_augment_in_a_pipeline_is_the_same_however_it_runs(block_size):
    images = np.stack([np.roll(PHOTO, shift, axis=0)[:20, :24] for shift in range(8)])
    dataset = ps.Dataset.from_tensor_slices(images).map(ps.image.rand_augment)
    got = list(dataset.with_options(ps.Options(block_size=block_size)).iterator(epoch=1))
    eager = ps.Dataset.from_tensor_slices(images).map(ps.image.rand_augment, compile=False)
    assert_same_elements(got, list(eager.iterator(epoch=1)), f"{block_size}")
    by_hand = ps.Dataset.from_tensor_slices(images).random_map(lambda x, rng: ps.image.rand_augment(x, rng=rng))
    assert "rand_augment" in by_hand.explain()
