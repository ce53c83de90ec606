"""Over two thousand pipelines drawn from the shared verbs: the same elements, specs and cardinalities as tf.data's.

Each drawn chain of up to eight verbs is compared whole, and so are up to three of the pipelines on the way to it. The
chains are the same in every run; HYPOTHESIS_PROFILE=thorough draws other and more. The count is printed at the end.
"""

from __future__ import annotations

import os
import random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

import penstock as ps
from tests.differential.drawn import SOURCES, Chain, chains
from tests.differential.functions import Functions
from tests.differential.twins import LIMIT, Twin, assert_specs_agree, assert_twins_agree

pytestmark = [pytest.mark.framework, pytest.mark.slow]

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
ROUNDS = 200 if THOROUGH else 9
COMPARED = {"range": 500, "arrays": 500, "generator": 500, "rows": 500}
"""Pipelines that must differ from each other, of each source: over 2000."""


@pytest.fixture(scope="session")
def functions(tf: ModuleType) -> Functions:
    return Functions(tf)


@pytest.mark.parametrize("source", SOURCES)
def test_drawn_pipelines(tf: ModuleType, functions: Functions, source: str, record_property: Any) -> None:
    plainly = tf.data.Options()  # their rewriting and tuning cost more than these few elements do
    plainly.experimental_optimization.apply_default_optimizations = False
    plainly.autotune.enabled = False
    compared: dict[str, int] = {}

    def compare(chain: Chain) -> None:
        twin = chain.twin
        if twin.text in compared:
            return
        note(twin.text)
        if not chain.windows:
            assert_specs_agree(twin, looks=chain.opaque)
        quick = Twin(twin.ours, twin.theirs.with_options(plainly), twin.kind, twin.text)
        try:
            compared[twin.text] = assert_twins_agree(quick)
        except tf.errors.InvalidArgumentError as error:
            if "Incompatible shapes at component" not in str(error):  # TensorFlow refuses a shape it promised itself
                raise

    def every(data: st.DataObject) -> None:
        made = data.draw(chains(tf, functions, source), label="chain")
        for place in {len(made) // 4, len(made) // 2, 3 * len(made) // 4, len(made) - 1}:
            compare(made[place])

    # Many short runs: a long one turns to variations of what it has drawn. No shrinking: it takes minutes, and the text
    # of a pipeline that differs says all.
    run = settings(max_examples=20, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))(
        given(data=st.data())(every)
    )
    for number in range(ROUNDS):
        seed(random.getrandbits(32) if THOROUGH else number)(run)()
    assert len(compared) >= COMPARED[source]
    record_property("compared with tf.data", (len(compared), sum(compared.values())))


def test_a_difference_in_specs_is_seen(tf: ModuleType) -> None:
    ours, theirs = ps.Dataset.range(5), tf.data.Dataset.range(5)
    assert_specs_agree(Twin(ours.batch(2, True), theirs.batch(2), "any", ""), looks=False)  # more may be known
    for left, right in ((ours.batch(2), theirs.batch(2, True)), (ours, theirs.batch(2)), (ours.enumerate(), theirs)):
        with pytest.raises(AssertionError):
            assert_specs_agree(Twin(left, right, "any", ""), looks=False)
    assert LIMIT > 4
