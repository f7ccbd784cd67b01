"""What is generated from the fields of a problem: nothing is left out, nothing stands there twice."""

import inspect
import typing
from pathlib import Path

import harness
from harness.bench.row_maker import problem_columns
from harness.experiment.axes import ProblemAxes
from harness.problem.arguments import CALL_FIELDS, FROM_ARRAYS
from harness.problem.attention_problem import AttentionProblem
from harness.problem.fields import problem_fields
from harness.results.result import Result

NAMES = set(AttentionProblem.model_fields)


def test_every_field_can_be_an_axis() -> None:
    assert set(ProblemAxes.model_fields) == NAMES | {"seq", "tokens", "hidden"}


def test_every_axis_is_documented_in_sweep_order() -> None:
    page = Path(__file__).parents[2] / "docs" / "experiments.md"
    section = page.read_text().partition("### `[problem]`")[2].partition("\n### ")[0]
    first_cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    keys = [key.strip(" `") for cell in first_cells for key in cell.split(",")]
    assert keys == list(ProblemAxes.model_fields)


def test_attention_takes_fields_beyond_its_arrays() -> None:
    signature = inspect.signature(harness.attention)
    assert set(CALL_FIELDS) == NAMES - set(FROM_ARRAYS)
    assert set(CALL_FIELDS) < set(signature.parameters)
    assert all(f"            {name}: " in (harness.attention.__doc__ or "") for name in CALL_FIELDS)


def test_every_field_is_a_column() -> None:
    annotations = typing.get_type_hints(Result)
    for name, field in problem_fields().items():
        annotation = annotations["boolean_mask" if name == "mask" else name]
        kinds = typing.get_args(annotation) or (annotation,)
        assert (str if field.kind is tuple else field.kind) in kinds, name
        is_left_out = name in ("mask_axes", "bias_axes")  # where it is the usual one
        assert (type(None) in kinds) == (field.is_optional or is_left_out), name


def test_tuples_are_columns_of_text() -> None:
    problem = AttentionProblem(batch=2, heads=1, seq_q=9, head_dim=4, window=(3, -1), kv_lengths=(4, 9))
    columns = problem_columns(problem)
    assert (columns["window"], columns["kv_lengths"]) == ("3:none", "4,9")
    assert (columns["mask"], columns["boolean_mask"]) == ("window(3,∞)+lengths", False)
