"""Code on the CPU that reads one element beyond an array, and multiplies it with 0, is wrong in a check."""

import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from sweeps import sweep
from variants.test_nan import FORMS, Form, built

from harness.artifact.bound_call import Executable
from harness.oracle.expected import expect
from harness.problem.inputs import guarded, make_inputs
from harness.targets.cpu import executable as native
from harness.targets.lowering.buffers import Buffer, checked_input

BINDS = 2
"""Binds of the first inputs in a check."""

PACKED = {"cu_seqlens_q": (0, 37, 77), "cu_seqlens_kv": (0, 64, 192)}
"""The last sequence is the longest, and the last page of a pool is full."""

LAST_IS_SEEN = {
    **{name: form for name, form in FORMS.items() if name != "flash-masked"},
    "paged": Form("varlen", PACKED, {"page_size": 64}),
    "padded": Form("padded", PACKED),
}
"""Forms of which some row sees the last element of each array."""

EVERY_RUN = [("flash", "key"), ("unfused", "bias"), ("varlen", "value")]


def settings() -> list[tuple[str, str]]:
    """Return forms with each of the arrays that their kernels read numbers from."""
    problems = {name: form.problem("f32") for name, form in LAST_IS_SEEN.items()}
    return [
        (form, name)
        for form, problem in problems.items()
        for name, array in make_inputs(problem).buffers(problem).items()
        if array.dtype == np.float32
    ]


@functools.cache
def code(form: str) -> Executable:
    return built("cpu", LAST_IS_SEEN[form], "f32", Path(tempfile.mkdtemp(dir=folders().name)))


@functools.cache
def folders() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory()


def reading_beyond(name: str, arrays: Mapping[str, np.ndarray], buffer: Buffer) -> np.ndarray:
    """Return an input; of one of them a copy to whose last element 0 times the one behind it is added."""
    array = checked_input(arrays, buffer)
    if buffer.name != name:
        return array
    copy = array.copy()
    one_more = np.lib.stride_tricks.as_strided(array.reshape(-1), (array.size + 1,))
    with np.errstate(invalid="ignore"):
        copy.reshape(-1)[-1] += 0 * one_more[-1]
    return copy


@pytest.mark.parametrize(("form", "name"), sweep(settings(), but=EVERY_RUN))
def test_an_element_that_is_read_beyond_an_array_is_found(
    form: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = LAST_IS_SEEN[form].problem("f32")
    expected = expect(make_inputs(problem, "normal", 0), problem)
    monkeypatch.setattr(native, "checked_input", functools.partial(reading_beyond, name))
    for _ in range(BINDS):
        inputs = guarded(make_inputs(problem, "normal", 0))
        call = code(form).bind(inputs.as_given())
        call.poison()
        call.run()
        verdict = expected.check_outputs(call.outputs())
        assert not verdict.ok
