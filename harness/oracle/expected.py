"""Is an output right?  The reference, the tolerance rule, and the verdict.

The rule is explained in docs/measurement.md.  It holds for every row at that row's own size:

    tolerance[row] = scale[row] · min(0.9, 2·E + 4·eps(dtype) + 2·(√keys + product[row] + 2·softcap)·eps(f32))

- `scale[row]`: the larger of the row's root mean square and √Σp²·rms(V), which does not vanish by cancelling.
- `E`: the largest error of the plain implementation over all rows measured, each divided by its row's scale.
  Which rows are far off depends on the order of summation; only the maximum over many is a property of the
  arithmetic.  So few rows are measured in several orders, and of large problems a sample of rows.
- `2·√keys·eps(f32)`: adding that many terms one after another; the BLAS that measures E sums in blocks.
- `2·product[row]·eps(f32)`, with `product` = |scale|·‖q‖·rms‖k‖: the same for the products of a score (Higham
  and Mary, A new approach to probabilistic rounding error analysis, 2019).
- `4·softcap·eps(f32)`: 1 − 2/(1 + exp(2·x)), GPUs' tanh, rounds at 1 however small x is.
- `0.9`: zeros are wrong by all of a row's size.  Where the term of scores alone reaches it, softmax is an
  argmax: the row is one of V, or a mean of those that tie, so that the bound is of its own root mean square.

Projected V adds 2·√model_width·eps(f32), and the term of scores is 1 + √(2·model_width/head_dim) times as
large; a projected output adds 2·√(heads·head_dim_v)·eps(f32).

Sinks can leave next to nothing of a row.  `Reference.underflow` says what may then change of it; it is added
to the tolerance of rows whose scale is less than `UNDERFLOW_FACTOR` times as large.  What the plain
implementation is wrong by beyond it in these rows counts for these rows alone.  No tolerance is below the
smallest step of the dtype.  The log-sum-exp of a row, where it is an output, is right within

    eps(f32) · (4·|log-sum-exp| + 4 + 2·√keys + 2·product[row] + 4·softcap)

and 2·eps(dtype)·product[row]/√head_dim more where Q and K are projected, which may be stored in the dtype.

Scores of `LARGEST_SCORE` or more are refused: f32 kernels are not asked to be right near its overflow.
A row that sees no key must be exactly 0, its log-sum-exp −∞.  NaN or infinity anywhere is an infinite error.
That the rule refuses what is wrong is proven with `harness.oracle.canaries`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import ml_dtypes
import numpy as np

from harness.oracle.plain_errors import plain_errors, rows_that_underflow
from harness.oracle.reference import (
    Reference,
    exact_attention,
    exact_output,
    heads,
    plain_rows,
    smallest_step,
)
from harness.oracle.wrong_rows import describe_wrong_rows
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import DTypeName, numpy_dtype
from harness.problem.inputs import Inputs
from harness.problem.outputs import LOG_SUM_EXP, OUTPUT, why_another, why_missing
from harness.problem.projections import joined_heads
from harness.system.errors import InputError

PLAIN_ERROR_FACTOR = 2.0
"""Of the plain implementation's error, that an output may have."""
OUTPUT_ULPS = 4.0
"""Units in the last place, at the size of its row, that an output may be wrong by besides."""
SUMMATION_FACTOR = 2.0
"""Of the errors that sequential sums of terms, and of products in scores, and capped scores have."""
CAP_ERROR = 2.0
"""Of the softcap times the unit of f32, by which capping makes a score wrong."""
LOG_SUM_EXP_ULPS = 4.0
"""Units in the last place of f32, at the size of a row's log-sum-exp and at 1, that it may be wrong by."""
PROJECTION_FACTOR = 2.0
"""Of a score's size times the dtype's unit, that rounding of projected Q and K may change it by."""
LARGEST_FACTOR = 0.9
"""Of a row's size, that an output may be wrong by at most: zeros are wrong by all of it."""

LARGEST_SCORE = 1e30
"""Bound of |scale|·‖q‖·rms‖k‖: running maxima of f32 kernels start at its negative."""

CHECK_ROWS = 1024
"""Rows compared at once: a mapped reference need not fit into memory, and differences fit into caches."""


def reference(inputs: Inputs, problem: AttentionProblem) -> np.ndarray:
    """Return attention in float64, in the problem's output shape; rows that see no key are 0."""
    return exact_output(exact_attention(inputs, problem), inputs).output


def same_precision(inputs: Inputs, problem: AttentionProblem) -> np.ndarray:
    """Return the plain three-step implementation's output: everything stored is in the problem's dtype."""
    output = np.zeros(problem.attended_shape, numpy_dtype(problem.dtype))
    for head in heads(inputs, problem):
        for rows in head.blocks():
            output[head.index][rows] = plain_rows(head, rows, problem)
    if inputs.projections is None or inputs.projections.output_weights is None:
        return output
    joined, weights = joined_heads(output), inputs.projections.output_weights
    return (joined.astype(np.float32) @ weights.astype(np.float32)).astype(output.dtype)


@dataclass(frozen=True)
class Verdict:
    """What the oracle says of an output."""

    ok: bool
    max_abs_error: float
    """Largest absolute error; infinite when NaN or infinity was found, or shape or dtype are wrong."""
    error_ratio: float
    """Largest error over tolerance of any row; above 1 is wrong."""
    tolerance: float
    """Tolerance of the row with that ratio."""
    first_bad: str | None = None
    """The first row outside its tolerance, `head 1, query 320`, or what else is wrong."""
    details: str | None = None
    """How many rows are, where they lie, and a value of the first, see `harness.oracle.wrong_rows`."""


def worse(verdict: Verdict, other: Verdict) -> Verdict:
    """Return the verdict that is wrong, or else the one that is closer to it."""
    return max(verdict, other, key=lambda each: (not each.ok, each.error_ratio))


@dataclass(frozen=True)
class Expected:
    """What a problem's output must be: computed once by `expect`, saved, and read by every checker."""

    dtype: DTypeName
    reference: np.ndarray
    """Float64, in the problem's output shape."""
    tolerance: np.ndarray
    """Largest allowed error of each row, float64, in the output shape less its last dimension."""
    log_sum_exp: np.ndarray
    """log Σ exp(score) of each row of each head; −inf where no key is visible."""
    log_sum_exp_tolerance: np.ndarray | None = None
    """Largest allowed error of each, where it is an output of the problem."""

    def check_outputs(self, outputs: Mapping[str, np.ndarray]) -> Verdict:
        """Compare all outputs of a call, by name; returns what is said of the one that is worse."""
        if OUTPUT not in outputs:
            return _unusable(why_missing(OUTPUT, outputs))
        verdict = self.check(outputs[OUTPUT])
        if self.log_sum_exp_tolerance is None:
            return verdict
        if LOG_SUM_EXP not in outputs:
            return _unusable(why_missing(LOG_SUM_EXP, outputs))
        of_rows = self._of_rows(self.log_sum_exp_tolerance).check(self._as_rows(outputs[LOG_SUM_EXP]))
        if of_rows.first_bad is not None:
            of_rows = replace(of_rows, first_bad=f"log-sum-exp: {of_rows.first_bad}")
        return worse(verdict, of_rows)

    def _of_rows(self, tolerance: np.ndarray) -> "Expected":
        """Return what the log-sum-exp must be: an output of width 1."""
        return Expected("f32", self.log_sum_exp[..., None], tolerance, self.log_sum_exp)

    def _as_rows(self, log_sum_exp: np.ndarray) -> np.ndarray:
        """Return the log-sum-exp that was found likewise; of packed sequences it has the heads first."""
        is_packed = self.log_sum_exp.ndim == 2
        return np.ascontiguousarray(log_sum_exp.T if is_packed else log_sum_exp)[..., None]

    def check(self, output: np.ndarray) -> Verdict:
        """Compare an output with the reference; a wrong shape or dtype is a wrong output, not an error."""
        difference = why_another(output, self.reference.shape, numpy_dtype(self.dtype))
        if difference is not None:
            return _unusable(difference)
        error = self._row_errors(output)
        if not error.size:
            return Verdict(ok=True, max_abs_error=0.0, error_ratio=0.0, tolerance=0.0)
        tolerance = self.tolerance.reshape(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(error == 0, 0.0, error / tolerance)
        worst = int(np.argmax(ratio))
        bad = np.flatnonzero(ratio > 1)
        return Verdict(
            ok=not bad.size,
            max_abs_error=float(error.max()),
            error_ratio=float(ratio[worst]),
            tolerance=float(tolerance[worst]),
            first_bad=self._row_name(int(bad[0])) if bad.size else None,
            details=describe_wrong_rows(self.reference, output, self.tolerance, bad, self._axes)
            if bad.size
            else None,
        )

    def _row_errors(self, output: np.ndarray) -> np.ndarray:
        width = self.reference.shape[-1]
        expected, output_rows = self.reference.reshape(-1, width), output.reshape(-1, width)
        errors = np.zeros(len(expected))
        for start in range(0, len(expected), CHECK_ROWS):
            rows = slice(start, start + CHECK_ROWS)
            with np.errstate(invalid="ignore"):
                values = output_rows[rows].astype(np.float64)
                difference = np.abs(values - expected[rows])
            difference[values == expected[rows]] = 0  # also an infinity that is expected
            errors[rows] = difference.max(axis=1)
        return np.where(np.isnan(errors), np.inf, errors)

    def _row_name(self, row: int) -> str:
        place = zip(
            self._axes, np.unravel_index(row, self.tolerance.shape), self.tolerance.shape, strict=True
        )
        return ", ".join(f"{axis} {index}" for axis, index, size in place if axis != "batch" or size > 1)

    @property
    def _axes(self) -> tuple[str, ...]:
        if self.tolerance.ndim == 3:
            return ("batch", "head", "query")
        return ("batch", "query") if self.log_sum_exp.ndim == 3 else ("token", "head")

    def dump(self, outputs: Mapping[str, np.ndarray], path: Path) -> None:
        """Write `expected`, `found` (as float32) and `tolerance` of outputs to an .npz file."""
        arrays = self._arrays(outputs[OUTPUT])
        if self.log_sum_exp_tolerance is not None and LOG_SUM_EXP in outputs:
            rows = self._of_rows(self.log_sum_exp_tolerance)._arrays(self._as_rows(outputs[LOG_SUM_EXP]))
            arrays |= {f"{LOG_SUM_EXP}_{name}": array for name, array in rows.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def _arrays(self, output: np.ndarray) -> dict[str, np.ndarray]:
        return {
            "expected": self.reference,
            "found": output.astype(np.float32),
            "tolerance": self.tolerance,
        }

    def save(self, path: Path) -> None:
        """Write to one file: consecutive .npy arrays, the reference last so that it can be mapped."""
        of_rows = self.log_sum_exp_tolerance
        nothing = np.zeros(0)
        arrays = (
            np.array(self.dtype),
            self.tolerance,
            self.log_sum_exp,
            nothing if of_rows is None else of_rows,
            self.reference,
        )
        with path.open("wb") as file:
            for array in arrays:
                np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote; the reference is mapped, not read."""
        try:
            with path.open("rb") as file:
                dtype, tolerance, log_sum_exp, of_rows = (np.lib.format.read_array(file) for _ in range(4))
                np.lib.format.read_magic(file)
                shape, _, element = np.lib.format.read_array_header_1_0(file)
                offset = file.tell()
            if 0 in shape:
                reference = np.zeros(shape, element)
            else:
                reference = np.memmap(path, element, mode="r", offset=offset, shape=shape)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot read an expected output: {error}") from error
        is_asked_for = of_rows.shape == log_sum_exp.shape
        return cls(
            str(dtype),  # type: ignore[arg-type]
            reference,
            tolerance,
            log_sum_exp,
            of_rows if is_asked_for else None,
        )


def _unusable(reason: str) -> Verdict:
    return Verdict(ok=False, max_abs_error=np.inf, error_ratio=np.inf, tolerance=0.0, first_bad=reason)


def expect(inputs: Inputs, problem: AttentionProblem) -> Expected:
    """Compute the reference and every row's tolerance; see the module's text for the rule.

    Raises `InputError` when the inputs have no finite result, or scores that f32 is too small for.
    """
    attended = exact_attention(inputs, problem)
    exact = exact_output(attended, inputs)
    if not np.isfinite(exact.output).all():
        raise InputError(
            "q, k, v: the exact output is not finite; expected inputs without NaN or infinities in V"
        )
    _require_in_range(float(np.max(exact.product, initial=0.0)))
    float32_eps = float(np.finfo(np.float32).eps)
    summation = SUMMATION_FACTOR * np.sqrt(problem.seq_kv) * float32_eps
    underflows = rows_that_underflow(exact)
    plain = plain_errors(inputs, problem, attended)
    factor = (
        PLAIN_ERROR_FACTOR * np.where(underflows, max(plain.in_range, plain.underflowing), plain.in_range)
        + OUTPUT_ULPS * float(ml_dtypes.finfo(numpy_dtype(problem.dtype)).eps)
        + summation
        + _projections_summation(problem)
    )
    scores = SUMMATION_FACTOR * _score_error(problem, exact.product)
    of_row = LARGEST_FACTOR * _root_mean_square(exact.output) + summation * exact.scale
    limit = np.where(scores < LARGEST_FACTOR, LARGEST_FACTOR * exact.scale, of_row)
    tolerance = np.minimum((factor + scores) * exact.scale, limit)
    tolerance = np.where(exact.scale > 0, np.maximum(tolerance, smallest_step(problem)), tolerance)
    return Expected(
        problem.dtype,
        exact.output,
        tolerance + np.where(underflows, exact.underflow, 0.0),
        exact.log_sum_exp,
        _log_sum_exp_tolerance(problem, attended, summation) if problem.log_sum_exp else None,
    )


def _score_error(problem: AttentionProblem, product: np.ndarray) -> np.ndarray:
    """Return about how wrong f32 makes scores: by their products, by projecting Q and K, by capping them."""
    projected = np.sqrt(2 * (problem.model_width or 0) / problem.head_dim)
    error: np.ndarray = product * (1 + projected) + CAP_ERROR * (problem.softcap or 0.0)
    return error * float(np.finfo(np.float32).eps)


def _projections_summation(problem: AttentionProblem) -> float:
    """Return what adding up products one after another adds to a row's relative error where it is projected.

    Each element of V is a sum over the tokens' width, and of a projected output over all heads' columns.
    """
    columns = problem.heads * problem.head_dim_v if problem.output_projection else 0
    sums = np.sqrt(problem.model_width or 0) + np.sqrt(columns)
    return SUMMATION_FACTOR * float(sums) * float(np.finfo(np.float32).eps)


def _log_sum_exp_tolerance(problem: AttentionProblem, exact: Reference, summation: float) -> np.ndarray:
    """Return how wrong the log-sum-exp of each row may be; 0 where it is −∞."""
    eps = float(np.finfo(np.float32).eps)
    is_finite = np.isfinite(exact.log_sum_exp)
    size = 1 + np.abs(np.where(is_finite, exact.log_sum_exp, 0.0))
    of_scores = SUMMATION_FACTOR * _score_error(problem, exact.product)
    tolerance = LOG_SUM_EXP_ULPS * eps * size + summation + of_scores
    if problem.model_width is not None:
        of_operands = float(ml_dtypes.finfo(numpy_dtype(problem.dtype)).eps)
        tolerance += PROJECTION_FACTOR * of_operands * exact.product / np.sqrt(problem.head_dim)
    return np.where(is_finite, tolerance, 0.0)


def _require_in_range(product: float) -> None:
    if not product < LARGEST_SCORE:
        raise InputError(
            f"scale: scores of size |scale|·‖q‖·rms‖k‖ = {product:.2g}, "
            f"expected less than {LARGEST_SCORE:.0e}: kernels compute them in f32"
        )


def _root_mean_square(rows: np.ndarray) -> np.ndarray:
    squares: np.ndarray = np.einsum("...i,...i->...", rows, rows)
    return np.sqrt(squares / max(1, rows.shape[-1]))
