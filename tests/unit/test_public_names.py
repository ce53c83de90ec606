"""The public names, pinned: adding one is a decision, losing one breaks users."""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any

import pytest

import penstock as ps
from penstock.session import PipelineIterator

NAMES: dict[str, tuple[ModuleType, str]] = {
    "penstock": (
        ps,
        (
            "AUTOTUNE AutoShardPolicy AutotuneOptions CsvDataset Dataset DistributeOptions FixedLengthRecordDataset "
            "FrozenTuning INFINITE_CARDINALITY Options Ragged RaggedSpec RemoteOptions Retry Rng Source Spec "
            "TensorSpec TextLineDataset TFRecordDataset ThreadingOptions UNKNOWN_CARDINALITY cast diagnose errors "
            "export freeze function gather image io load one_hot replay text train watch"
        ),
    ),
    "penstock.image": (
        ps.image,
        (
            "adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality adjust_saturation "
            "cast central_crop convert_image_dtype crop_to_bounding_box cutmix cutout flip_left_right "
            "flip_up_down grayscale_to_rgb mixup normalize pad_to_bounding_box per_image_standardization "
            "rand_augment random_brightness random_contrast random_crop random_cutout random_flip_left_right "
            "random_flip_up_down random_hue random_jpeg_quality random_resized_crop random_saturation resize "
            "resize_with_crop_or_pad resize_with_pad rgb_to_grayscale rot90 transpose"
        ),
    ),
    "penstock.train": (
        ps.train,
        (
            "Alarm CastingPolicy Change Device DeviceList Epoch FixedShapes Monitor Placement "
            "PrecisionComparison PrecisionRun Released RetraceWatch Runtime Scaled Strategy autocast "
            "averaged batch_sharding casting_policy check_precision choose_strategy compare_precision "
            "compile_step devices fix_shapes grad_scaler jax_warm_up keras_warm_up loss_weight place release "
            "scale scaled_rate set_jit set_precision setup skipped_steps torch_warm_up unmatched_layouts "
            "watch_retraces wrap"
        ),
    ),
    "penstock.text": (
        ps.text,
        (
            "Vocabulary hash_bucket join length lookup lower ngrams pad regex_replace remove_stop_words split strip "
            "tokenize upper"
        ),
    ),
    "penstock.io": (
        ps.io,
        (
            "FixedLenFeature FixedLenSequenceFeature TFRecordOptions TFRecordWriter VarLenFeature "
            "decode_and_crop_jpeg decode_image decode_jpeg decode_png decode_raw encode_jpeg encode_png "
            "extract_jpeg_shape parse_example parse_sequence_example parse_single_example "
            "parse_single_sequence_example read_file serialize_example serialize_sequence_example"
        ),
    ),
}

MEMBERS: dict[str, tuple[type[Any], str]] = {
    "Dataset": (
        ps.Dataset,
        (
            "apply as_numpy_iterator assert_cardinality batch bucket_by_sequence_length cache cardinality "
            "choose_from_datasets class_names concatenate counter distribute element_spec enumerate explain filter "
            "flat_map from_array_file from_array_record from_arrow from_bytes from_folder from_generator "
            "from_hugging_face from_json_lines from_parquet from_source from_tar from_tensor_slices "
            "from_tensors get_single_element group_by_window ignore_errors interleave iterator list_files load map mix "
            "pack padded_batch peek prefetch ragged_batch random random_map range rebatch reduce rejection_resample "
            "repeat sample_from_datasets save scan shard shuffle skip snapshot take take_while to_bytes to_jax "
            "to_keras to_numpy to_tf to_torch tokens unbatch unique window with_options zip"
        ),
    ),
    "PipelineIterator": (
        PipelineIterator,
        "close diagnose epoch load_state_dict replayed skipped state_dict stats trace tuning_log",
    ),
    "Rng": (ps.Rng, "choice integers normal numpy permutation random uniform"),
    "Ragged": (
        ps.Ragged,
        (
            "concat copy dtype flat_values from_rows nbytes ndim nested_row_splits ragged_rank row_lengths row_splits "
            "shape take to_list to_padded values"
        ),
    ),
    "RaggedSpec": (
        ps.RaggedSpec,
        "batched dtype is_compatible_with merge ragged_rank shape unbatched with_rows",
    ),
    "Spec": (ps.Spec, "batched dtype is_compatible_with merge ragged_rank shape unbatched with_rows"),
}

OPTIONS = (
    "cpu_budget ram_budget cache_budget deterministic seed executor max_image_pixels block_size max_error_ratio "
    "skip_rules autotune threading experimental_distribute remote"
)


@pytest.mark.parametrize("module", NAMES)
def test_module_exports(module: str) -> None:
    found, names = NAMES[module]
    assert sorted(found.__all__) == sorted(names.split())


@pytest.mark.parametrize("module", NAMES)
def test_module_has_what_it_exports(module: str) -> None:
    found, _ = NAMES[module]
    assert all(hasattr(found, name) for name in found.__all__)


@pytest.mark.parametrize("kind", MEMBERS)
def test_class_has_members(kind: str) -> None:
    found, names = MEMBERS[kind]
    assert sorted(name for name in dir(found) if not name.startswith("_")) == sorted(names.split())


@pytest.mark.parametrize("kind", [k for k in MEMBERS if not k.endswith("Spec") and k != "Ragged"])
def test_member_says_what_it_does(kind: str) -> None:
    found, names = MEMBERS[kind]
    undocumented = [name for name in names.split() if not (getattr(found, name).__doc__ or "").strip()]
    assert undocumented == []


def test_options_have_fields() -> None:
    assert [field.name for field in dataclasses.fields(ps.Options)] == OPTIONS.split()


def test_options_document_each_field() -> None:
    assert all(f"{name}:" in str(ps.Options.__doc__) for name in OPTIONS.split())


def test_constants_are_those_of_tf_data() -> None:
    assert (ps.AUTOTUNE, ps.INFINITE_CARDINALITY, ps.UNKNOWN_CARDINALITY) == (-1, -1, -2)


def test_version_is_that_of_the_package() -> None:
    assert ps.__version__.count(".") == 2


def test_package_is_typed() -> None:
    from importlib.resources import files

    assert (files("penstock") / "py.typed").is_file()
