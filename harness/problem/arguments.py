"""Arrays that somebody hands over: taken, checked before any generated code sees them, and read as a problem.

Errors name the argument that is wrong.
"""

import sys
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from harness.problem.attention_problem import OPERANDS, SCORE_AXES, SIZES, AttentionProblem
from harness.problem.dtypes import dtype_name, numpy_dtype
from harness.problem.fields import problem_fields
from harness.problem.inputs import Inputs
from harness.problem.projections import ProjectionInputs, projection_shapes
from harness.system.errors import InputError, message_of
from harness.system.validation import unknown_key

ArrayLike = Any
"""A NumPy array, or what shares its memory by DLPack, such as a PyTorch tensor on the CPU."""

FROM_ARRAYS = frozenset((*SIZES, "dtype", "model_width", *OPERANDS, *(f"{name}_axes" for name in OPERANDS)))
"""Fields of a problem that its arrays say."""

CALL_OPTIONS = ("variant", "target", "executor", *OPERANDS, "params", "threads")
"""What a call says beside its arrays and fields of its problem."""

CALL_FIELDS = {name: field for name, field in problem_fields().items() if name not in FROM_ARRAYS}
"""Fields of a problem that are said beside its arrays."""


def as_array(name: str, operand: ArrayLike) -> np.ndarray:
    """Return an operand as a NumPy array, without a copy; raises `InputError` for what is none."""
    if isinstance(operand, np.ma.MaskedArray):
        raise InputError(f"{name}: found a masked array, expected one without a mask of its own")
    if isinstance(operand, np.ndarray):
        return operand
    try:
        if hasattr(operand, "__dlpack__"):
            return _shared(operand)
    except Exception as error:  # whatever code of somebody else's may raise
        reason = " ".join(message_of(error).split()) or type(error).__name__
        raise InputError(f"{name}: NumPy cannot take this {type(operand).__name__}: {reason}") from error
    raise InputError(f"{name}: found {type(operand).__name__}, expected a NumPy array or a tensor on the CPU")


def _shared(tensor: Any) -> np.ndarray:
    """Return an array over the same memory; NumPy's own import knows no bfloat16.

    A PyTorch tensor that is to be read with the other sign, as `.conj().imag` is, is copied: DLPack does not
    tell of that bit.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        tensor = tensor.resolve_neg()
        if tensor.dtype == torch.bfloat16:
            return np.from_dlpack(tensor.view(torch.int16)).view(ml_dtypes.bfloat16)
    return np.from_dlpack(tensor)


def problem_of(
    arrays: Mapping[str, np.ndarray], operands: Mapping[str, Any], fields: Mapping[str, Any]
) -> AttentionProblem:
    """Return the problem of q, k and v with these operands and other fields, all checked (`InputError`)."""
    for name in fields:
        if name not in CALL_FIELDS:
            raise InputError(f"{name}: {unknown_key(name, [*CALL_OPTIONS, *CALL_FIELDS])}")
    q, k, v = (arrays[name] for name in "qkv")
    packed = fields.get("cu_seqlens_q") is not None
    layout = "[tokens, heads, head_dim]" if packed else "[batch, heads, seq, head_dim]"
    for name, array in arrays.items():
        if array.ndim != (3 if packed else 4):
            raise InputError(f"{name}: found shape {list(array.shape)}, expected {layout}")
        if 0 in array.shape:
            raise InputError(f"{name}: found shape {list(array.shape)}, expected no dimension of size 0")
    heads = 1 if not packed else -2
    sizes: dict[str, Any] = {
        "heads": q.shape[heads],
        "kv_heads": k.shape[heads],
        "head_dim": q.shape[-1],
        "head_dim_v": v.shape[-1],
    }
    if not packed:
        sizes |= {"batch": q.shape[0], "seq_q": q.shape[2], "seq_kv": k.shape[2]}
    try:
        dtype = dtype_name(q.dtype)
    except InputError as error:
        raise InputError(f"q: {error}") from error
    scores = dict(zip(SCORE_AXES, (q.shape[0], q.shape[1], *(a.shape[-2] for a in (q, k))), strict=True))
    for name, operand in operands.items():
        sizes[name] = operand is not None
        is_of_pairs = f"{name}_axes" in problem_fields() and not packed
        if operand is not None and is_of_pairs and _broadcasts(operand.shape, tuple(scores.values())):
            usual = problem_fields()[f"{name}_axes"].default
            sizes[f"{name}_axes"] = _axes_of(operand.shape, scores, usual)
    problem = AttentionProblem(**sizes, **fields, dtype=dtype)
    check_inputs(problem, Inputs(q, k, v, **operands))
    return problem


def check_inputs(problem: AttentionProblem, inputs: Inputs) -> None:
    """Raise `InputError` unless the arrays have the shapes and dtypes that the problem says.

    A mask of numbers and a bias of truth values mean different things to different libraries, so both are
    refused here, for all.
    """
    dtype = numpy_dtype(problem.dtype)
    for name, shape in (("q", problem.q_shape), ("k", problem.k_shape), ("v", problem.v_shape)):
        _check_array(name, getattr(inputs, name), shape, dtype, "" if name == "q" else " as q has")
    _check_projections(problem, inputs.projections)
    expected = problem.operands()
    for name in OPERANDS:
        operand = getattr(inputs, name)
        if (operand is not None) != (name in expected):
            presence, wanted = (
                ("none was given", "has one") if operand is None else ("one was given", "has none")
            )
            raise InputError(f"{name}: {presence}, but the problem {wanted}")
        if operand is None:
            continue
        if operand.dtype != expected[name].numpy_dtype:
            meaning = ", true where a key is visible" if name == "mask" else " as q has"
            raise InputError(
                f"{name}: found dtype {operand.dtype}, expected {expected[name].numpy_dtype}{meaning}"
            )
        if f"{name}_axes" not in problem_fields():
            _check_array(name, operand, expected[name].shape, operand.dtype, "")
        elif not _broadcasts(operand.shape, problem.scores_shape):
            raise InputError(
                f"{name}: found shape {list(operand.shape)}, expected one that broadcasts to "
                f"{list(problem.scores_shape)}, [batch, heads, seq_q, seq_kv]"
            )


def _check_array(name: str, array: Any, shape: tuple[int, ...], dtype: np.dtype, why: str) -> None:
    if not isinstance(array, np.ndarray):
        raise InputError(f"{name}: found {type(array).__name__}, expected a NumPy array")
    if array.dtype != dtype:
        raise InputError(f"{name}: found dtype {array.dtype}, expected {dtype}{why}")
    if array.shape != shape:
        raise InputError(f"{name}: found shape {list(array.shape)}, expected {list(shape)}")


def _check_projections(problem: AttentionProblem, projections: ProjectionInputs | None) -> None:
    """Raise `InputError` unless tokens and weights are given only where the problem has them, and fit it."""
    shapes = projection_shapes(problem)
    if not shapes and projections is not None:
        raise InputError("projections: some were given, but the problem has no model_width")
    if not shapes:
        return
    if projections is None:
        raise InputError(
            "projections: none were given, but the problem has a model_width: expected tokens and weights, "
            "Inputs(..., projections=ProjectionInputs(...)) for bind"
        )
    for name, shape in shapes.items():
        _check_array(name, getattr(projections, name), shape, numpy_dtype(problem.dtype), " as q has")


def _axes_of(shape: tuple[int, ...], scores: Mapping[str, int], usual: str) -> str:
    """Return the axes along which an array differs; where scores have size 1, those that are usual."""
    own = zip(reversed(list(scores)), reversed(shape), strict=False)
    differs = {axis for axis, size in own if size > 1}
    axes = "".join(axis for axis, size in scores.items() if axis in (usual if size == 1 else differs))
    return axes or "k"


def _broadcasts(shape: tuple[int, ...], full: tuple[int, ...]) -> bool:
    """Whether NumPy's rules make an array of one shape one of another."""
    if len(shape) > len(full):
        return False
    aligned = full[len(full) - len(shape) :]
    return all(size in (1, wanted) for size, wanted in zip(shape, aligned, strict=True))
