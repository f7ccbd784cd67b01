"""Small probabilities in f16 where matrix instructions take subnormal numbers for 0 weigh all the same."""

from pathlib import Path

import numpy as np
import pytest
from sweeps import sweep

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import Inputs
from harness.targets.base import chip_of

KEYS = 32768
"""Of equal score each weighs 2⁻¹⁵, half of f16's least normal number."""

FORMS = {
    "flash": ("flash", {"kv_splits": 1}),
    "flash in parts": ("flash", {}),
    "every step": ("flash", {"division": "every-step", "kv_splits": 1}),
    "unfused": ("unfused", {}),
}


def build(form: str, problem: AttentionProblem, folder: Path, target: str = "rocm:gfx90a") -> Artifact:
    variant, params = FORMS[form]
    case = Case(problem=problem, variant=variant, target=target, params=params)
    return plugins.variant(variant).build(case, "key", folder)


def attend(artifact: Artifact, folder: Path, inputs: Inputs) -> np.ndarray:
    call = artifact.load(folder).bind(inputs)
    call.poison()
    call.run()
    return call.outputs()["output"].astype(np.float64)


@pytest.mark.parametrize("form", sweep(FORMS, but=["flash in parts"]))
def test_keys_that_weigh_little_are_not_lost(form: str, tmp_path: Path) -> None:
    """All keys score the same for the first half of the queries; for the others the first one scores more, so
    that each of the rest weighs 2⁻¹⁵ of it, and half of all together."""
    problem = AttentionProblem(heads=1, seq_q=32, seq_kv=KEYS, head_dim=32, dtype="f16", scale=1.0)
    query, key, value = (
        np.zeros(shape, np.float16) for shape in (problem.q_shape, problem.k_shape, problem.v_shape)
    )
    value[:] = 1
    value[:, :, 0] = -1
    query[:, :, 16:, 0] = 15 * np.log(2)
    key[:, :, 0, 0] = 1
    found = attend(build(form, problem, tmp_path), tmp_path, Inputs(query, key, value))
    ahead = np.exp(query[0, 0, 16, 0].astype(np.float64))
    np.testing.assert_allclose(found[:, :, :16], 1 - 2 / KEYS, atol=2.0**-11)
    np.testing.assert_allclose(found[:, :, 16:], (KEYS - 1 - ahead) / (KEYS - 1 + ahead), atol=2.0**-11)


@pytest.mark.parametrize(
    ("target", "dtype", "shift"),
    [("rocm:gfx90a", "f16", 11), ("rocm:gfx90a", "bf16", 0), ("rocm:gfx942", "f16", 0), ("cpu", "f16", 0)],
)
def test_probabilities_are_shifted_for_chips_that_say_so(target: str, dtype: str, shift: int) -> None:
    problem = AttentionProblem(heads=1, seq_q=64, head_dim=64, dtype=dtype)
    sizes = plugins.target(target).tile_sizes(chip_of(target), problem)
    assert sizes.probability_shift == shift
