"""Every NaN stays one: rows that see it are NaN, and no others, whatever its payload and sign.

By variant and form of attention, in every dtype and on every target; GPUs are emulated.
"""

import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweeps import sweep
from variants.seen_elements import Place, Seen, nans, seen, with_element

from harness import plugins
from harness.artifact.bound_call import Executable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import Inputs, make_inputs
from harness.problem.outputs import LOG_SUM_EXP, OUTPUT


@dataclass(frozen=True)
class Form:
    """A variant, and a problem with what changes scores."""

    variant: str
    fields: dict[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)

    def problem(self, dtype: str) -> AttentionProblem:
        sizes = {} if "cu_seqlens_q" in self.fields else {"seq_q": 40, "seq_kv": 77}
        return AttentionProblem(**{"heads": 2, "head_dim": 16, "dtype": dtype, **sizes, **self.fields})


PACKED = {"cu_seqlens_q": (0, 40, 77), "cu_seqlens_kv": (0, 45, 110), "log_sum_exp": True}
PROJECTED = {"seq_q": 40, "seq_kv": 40, "model_width": 32}
FORMS = {
    "flash": Form("flash", {"log_sum_exp": True}),
    "flash-masked": Form(
        "flash",
        {"causal": True, "bias": True, "sinks": True, "mask": True, "softcap": 5.0, "log_sum_exp": True},
    ),
    "flash-lengths": Form(
        "flash",
        {"batch": 2, "kv_lengths": (50, 77), "window": (30, 3), "log_sum_exp": True},
        {"division": "every-step"},
    ),
    "decode": Form("flash", {"heads": 4, "kv_heads": 2, "seq_q": 1, "seq_kv": 150, "log_sum_exp": True}),
    "decode-split": Form("flash", {"seq_q": 1, "seq_kv": 150, "log_sum_exp": True}, {"kv_splits": 2}),
    "naive": Form("naive", {"causal": True, "bias": True}),
    "unfused": Form("unfused", {"causal": True, "sinks": True, "bias": True, "log_sum_exp": True}),
    "split-head": Form("split-head", {**PROJECTED, "log_sum_exp": True}),
    "split-head-before": Form(
        "split-head", {**PROJECTED, "causal": True, "output_projection": True}, {"projections": "before"}
    ),
    "varlen": Form("varlen", {**PACKED, "causal": True, "sinks": True}),
    "paged": Form("varlen", PACKED, {"page_size": 64}),
    "padded": Form("padded", {**PACKED, "causal": True, "causal_alignment": "top-left"}),
}
MAKE_VALUES = ("v", "tokens")
"""Operands that are values of V, or make them: 0 · NaN is NaN, also for a key that a mask hides."""

TARGETS = {
    "cpu": ("f32", "f16", "bf16"),
    "cuda:sm_80": ("f32", "f16", "bf16"),
    "rocm:gfx942": ("f32", "f16", "bf16"),
    "rocm:gfx950": ("f16",),
    "rocm:gfx1100": ("f16", "bf16"),
    "xegpu:bmg": ("f16", "bf16"),
}
RANDOM = {"cpu": 5}
"""Random NaNs for each operand; none where emulated."""


def settings() -> list[tuple[str, str, str]]:
    return [(target, form, dtype) for target, dtypes in TARGETS.items() for form in FORMS for dtype in dtypes]


EVERY_RUN = [
    ("cpu", "flash-masked", "f32"),
    ("cpu", "varlen", "f16"),
    ("cuda:sm_80", "flash-masked", "f32"),
]


def built(target: str, form: Form, dtype: str, folder: Path) -> Executable:
    case = Case(problem=form.problem(dtype), variant=form.variant, target=target, params=form.params)
    assert plugins.variant(form.variant).supports(case.problem, target) is None
    artifact = plugins.variant(form.variant).build(case, "key", folder)
    assert artifact.executor in ("native", "emulator")
    return artifact.load(folder)


def outputs(executable: Executable, inputs: Inputs) -> dict[str, np.ndarray]:
    call = executable.bind(inputs)
    call.poison()
    call.run()
    return call.outputs()


def rows_of_values(form: Form, problem: AttentionProblem, name: str, place: Place) -> np.ndarray:
    """Return the rows whose tiles of keys may hold a value of V."""
    rows = np.zeros(problem.output_shape[:-1], bool)
    if name == "tokens":
        rows[place[0]] = True
        return rows
    heads = slice(place[1] * problem.group_size, (place[1] + 1) * problem.group_size)
    if form.variant == "padded":
        entry = int(np.searchsorted(problem.cu_seqlens_kv, place[0], side="right")) - 1
        rows[problem.cu_seqlens_q[entry] : problem.cu_seqlens_q[entry + 1], heads] = True
    else:
        rows[(slice(None), heads) if problem.is_packed else (place[0], heads)] = True
    return rows


def is_beyond_length(problem: AttentionProblem, place: Place) -> bool:
    """Return whether a key or value is none of its batch entry's."""
    return problem.kv_lengths is not None and place[2] >= problem.kv_lengths[place[0]]


def assert_kept(problem: AttentionProblem, arrays: dict[str, np.ndarray], expected: Seen) -> None:
    """Rows that see a NaN are NaN where they see it, and so is their log-sum-exp where the score does."""
    assert np.isnan(arrays[OUTPUT][expected.output].astype(np.float32)).all()
    if problem.log_sum_exp:
        log_sum_exp = arrays[LOG_SUM_EXP].T if problem.is_packed else arrays[LOG_SUM_EXP]
        np.testing.assert_array_equal(np.isnan(log_sum_exp), expected.log_sum_exp)


@pytest.mark.parametrize(("target", "form", "dtype"), sweep(settings(), but=EVERY_RUN))
def test_rows_that_see_a_nan_are_nan_and_no_others(
    target: str, form: str, dtype: str, tmp_path: Path
) -> None:
    draw = np.random.default_rng(zlib.crc32(f"{target} {form} {dtype}".encode()))
    problem = FORMS[form].problem(dtype)
    executable = built(target, FORMS[form], dtype, tmp_path)
    inputs = make_inputs(problem, "normal", 3)
    derived = {"q", "k", "v"} if inputs.projections else set()
    for name, array in inputs.arrays().items():
        if name in derived | {"mask"}:
            continue
        for nan in nans(dtype, draw, RANDOM.get(target, 0)):
            place = tuple(draw.integers(array.shape).tolist())
            expected = seen(inputs, problem, name, place)
            computed = outputs(executable, with_element(inputs, name, place, nan))
            assert_kept(problem, computed, expected)
            may_be = expected.output.any(axis=-1)
            if name in MAKE_VALUES and not is_beyond_length(problem, place):
                may_be |= rows_of_values(FORMS[form], problem, name, place)
            rows = np.isnan(computed[OUTPUT].astype(np.float32)).any(axis=-1)
            assert not (rows & ~may_be).any(), (name, place, nan.tobytes().hex())
