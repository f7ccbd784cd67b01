"""Arrays that are handed over: what is refused before any generated code sees it, and what is taken."""

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from harness.problem.arguments import as_array, check_inputs, problem_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, make_inputs
from harness.system.errors import InputError

Shape = tuple[int, ...]
PROBLEM = AttentionProblem(batch=2, heads=4, seq_q=3, seq_kv=5, head_dim=8, mask=True, bias=True)


def inputs(**changed: Any) -> Inputs:
    arrays = {
        "q": np.zeros(PROBLEM.q_shape, np.float32),
        "k": np.zeros(PROBLEM.k_shape, np.float32),
        "v": np.zeros(PROBLEM.v_shape, np.float32),
        "mask": np.ones((2, 1, 3, 5), bool),
        "bias": np.zeros((1, 4, 3, 5), np.float32),
    }
    return Inputs(**{**arrays, **changed})


class Tensor:
    """What shares its memory by DLPack, as a library's tensor does."""

    def __init__(self, array: np.ndarray, error: Exception | None = None) -> None:
        self.array = array
        self.error = error

    def __dlpack__(self, **options: Any) -> Any:
        if self.error is not None:
            raise self.error
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    "shape", [(5,), (3, 5), (1, 3, 5), (4, 1, 1), (2, 4, 3, 5), (2, 1, 1, 5), (1, 1, 1, 1)]
)
def test_what_broadcasts_to_the_scores_is_taken(shape: tuple[int, ...]) -> None:
    check_inputs(PROBLEM, inputs(mask=np.ones(shape, bool), bias=np.zeros(shape, np.float32)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mask": np.ones((2, 1, 3, 5), np.uint8)}, "mask: found dtype uint8, expected bool, true where"),
        ({"bias": np.zeros((3, 5))}, "bias: found dtype float64, expected float32 as q has"),
        (
            {"mask": np.ones((5, 3), bool)},
            r"mask: found shape \[5, 3\], expected one that broadcasts to \[2, 4,",
        ),
        ({"mask": np.ones((3, 4, 3, 5), bool)}, r"mask: found shape \[3, 4, 3, 5\], expected"),
        ({"mask": np.ones((1, 2, 4, 3, 5), bool)}, r"mask: found shape \[1, 2, 4, 3, 5\], expected"),
        ({"bias": np.zeros((2, 3, 5), np.float32)}, r"bias: found shape \[2, 3, 5\], expected"),
        ({"mask": None}, "mask: none was given, but the problem has one"),
        ({"q": np.zeros((2, 4, 3, 8))}, "q: found dtype float64, expected float32"),
        (
            {"v": np.zeros((2, 4, 5, 7), np.float32)},
            r"v: found shape \[2, 4, 5, 7\], expected \[2, 4, 5, 8\]",
        ),
    ],
)
def test_other_dtypes_and_shapes_are_refused_by_name(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_inputs(PROBLEM, inputs(**changed))


def test_an_operand_that_the_problem_has_not_is_refused() -> None:
    plain = PROBLEM.model_copy(update={"bias": False})
    with pytest.raises(InputError, match="bias: one was given, but the problem has none"):
        check_inputs(plain, inputs())


class TestTokensAndWeights:
    problem = AttentionProblem(heads=2, seq_q=8, head_dim=4, model_width=12, output_projection=True)

    def test_those_of_the_problem_are_taken(self) -> None:
        for problem in (self.problem, self.problem.model_copy(update={"output_projection": False})):
            check_inputs(problem, make_inputs(problem))

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            (
                {"tokens": np.zeros((1, 7, 12), np.float32)},
                r"tokens: found shape \[1, 7, 12\], expected \[1, 8, 12\]",
            ),
            ({"key_weights": np.zeros((12, 8))}, "key_weights: found dtype float64, expected float32"),
            ({"value_weights": None}, "value_weights: found NoneType, expected a NumPy array"),
            ({"output_weights": None}, "output_weights: found NoneType, expected a NumPy array"),
        ],
    )
    def test_others_are_refused_by_name(self, changed: dict[str, Any], message: str) -> None:
        given = make_inputs(self.problem)
        assert given.projections is not None
        given = replace(given, projections=replace(given.projections, **changed))
        with pytest.raises(InputError, match=message):
            check_inputs(self.problem, given)


def test_a_tensor_is_taken_without_a_copy() -> None:
    array = np.arange(6.0)
    assert np.shares_memory(as_array("q", Tensor(array)), array)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0], "q: found list, expected a NumPy array or a tensor on the CPU"),
        (None, "q: found NoneType, expected"),
        (np.ma.masked_array(np.zeros(3), [True, False, False]), "q: found a masked array, expected one with"),
        (
            Tensor(np.zeros(2), BufferError("it requires a gradient")),
            "q: NumPy cannot take this Tensor: it requires a gradient",
        ),
        (Tensor(np.zeros(2), KeyError("no such thing")), "q: NumPy cannot take this Tensor: 'no such thing'"),
        (Tensor(np.zeros(2), AssertionError()), "q: NumPy cannot take this Tensor: AssertionError"),
    ],
)
def test_what_is_no_array_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_array("q", given)


@pytest.mark.extra("baselines")
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_pytorch_s_tensors_that_are_read_with_the_other_sign_have_it(dtype: str) -> None:
    """PyTorch keeps the sign of `.conj().imag` in a bit that DLPack does not hand over."""
    import torch

    numbers = torch.complex(torch.zeros(2, 3), torch.full((2, 3), 1.5)).conj().imag
    assert numbers.is_neg()
    given = numbers if dtype == "float32" else numbers.to(getattr(torch, dtype))
    assert (as_array("q", given).astype(np.float32) == -1.5).all()


class TestReadingAProblem:
    def of(self, **fields: Any) -> AttentionProblem:
        q = np.zeros((2, 4, 3, 8), ml_dtypes.bfloat16)
        k = np.zeros((2, 2, 5, 8), ml_dtypes.bfloat16)
        return problem_of({"q": q, "k": k, "v": k}, {"mask": None, "bias": None}, fields)

    def test_sizes_come_from_the_arrays_and_the_rest_from_fields(self) -> None:
        problem = self.of(causal=True, kv_lengths=np.array([2, 5]))
        assert problem.describe() == "b2 h4/2 s3×5 d8 bf16 causal+lengths kv_lengths=2,5"

    @pytest.mark.parametrize(
        ("shape", "axes"),
        [
            ((2, 4, 3, 5), "bhqk"),
            ((2, 1, 3, 5), "bqk"),
            ((1, 4, 1, 5), "hk"),
            ((3, 1), "q"),
            ((5,), "k"),
            ((2, 1, 1, 1), "b"),
            ((1, 1), "k"),
            ((), "k"),
        ],
    )
    def test_axes_of_mask_and_bias_are_those_along_which_they_differ(self, shape: Shape, axes: str) -> None:
        q, k = np.zeros((2, 4, 3, 8), np.float32), np.zeros((2, 2, 5, 8), np.float32)
        operands = {"mask": np.ones(shape, bool), "bias": np.zeros(shape, np.float32)}
        problem = problem_of({"q": q, "k": k, "v": k}, operands, {})
        assert (problem.mask_axes, problem.bias_axes) == (axes, axes)

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"casual": True}, r"casual: unknown key \(did you mean causal\?\); allowed: variant, "),
            ({"heads": 4}, "heads: unknown key"),
            ({"causal": "no"}, 'causal: Input should be a valid boolean, found "no"'),
        ],
    )
    def test_a_wrong_field_is_named(self, fields: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            self.of(**fields)
