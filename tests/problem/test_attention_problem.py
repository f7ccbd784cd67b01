import contextlib
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import InputError


def brute_force_pairs(problem: AttentionProblem) -> int:
    """Count the visible pairs one by one, from the conventions as they are written."""
    pairs = 0
    for seq_q, seq_kv in problem.sequence_lengths():
        shift = seq_kv - seq_q
        for i in range(seq_q):
            for j in range(seq_kv):
                visible = True
                if problem.causal:
                    visible &= j <= i + (shift if problem.causal_alignment == "bottom-right" else 0)
                if problem.window is not None:
                    left, right = problem.window
                    visible &= left is None or i + shift - left <= j
                    visible &= right is None or j <= i + shift + right
                pairs += visible
    return pairs


side = st.one_of(st.none(), st.integers(-1, 12))


@given(
    seq_q=st.integers(1, 20),
    seq_kv=st.integers(1, 20),
    causal=st.booleans(),
    alignment=st.sampled_from(["bottom-right", "top-left"]),
    window=st.one_of(st.none(), st.tuples(side, side)),
    data=st.data(),
)
def test_visible_pairs_of_padded_batches_equal_the_count(seq_q, seq_kv, causal, alignment, window, data):
    lengths = data.draw(st.one_of(st.none(), st.tuples(*[st.integers(0, seq_kv)] * 2)))
    problem = AttentionProblem(
        batch=2,
        heads=1,
        seq_q=seq_q,
        seq_kv=seq_kv,
        head_dim=4,
        causal=causal,
        causal_alignment=alignment,
        window=window,
        kv_lengths=lengths,
    )
    assert problem.visible_pairs() == brute_force_pairs(problem)


@given(
    lengths=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4),
    causal=st.booleans(),
)
def test_visible_pairs_of_packed_sequences_equal_the_count(lengths, causal):
    problem = AttentionProblem(
        heads=1,
        head_dim=4,
        cu_seqlens_q=(0, *np.cumsum([q for q, _ in lengths])),
        cu_seqlens_kv=(0, *np.cumsum([kv for _, kv in lengths])),
        causal=causal,
    )
    assert problem.sequence_lengths() == lengths
    assert problem.visible_pairs() == brute_force_pairs(problem)


def test_flops_of_grouped_heads_are_those_of_all_query_heads():
    problem = AttentionProblem(batch=2, heads=6, kv_heads=2, seq_q=5, seq_kv=7, head_dim=8)
    assert problem.flops() == 4 * 2 * 6 * 5 * 7 * 8


def test_flops_of_projections_are_counted_for_each_head_that_is_projected():
    problem = AttentionProblem(
        batch=3, heads=4, kv_heads=2, seq_q=5, head_dim=8, head_dim_v=16, model_width=10
    )
    columns = 4 * 8 + 2 * 8 + 2 * 16
    assert problem.projection_flops() == 2 * 3 * 5 * 10 * columns
    assert problem.flops() == 3 * 4 * 5 * 5 * 2 * (8 + 16) + problem.projection_flops()


def test_bytes_count_every_input_and_the_output_once():
    problem = AttentionProblem(
        batch=2, heads=4, kv_heads=2, seq_q=3, seq_kv=5, head_dim=8, dtype="f16", mask=True, bias=True
    )
    q = output = 2 * 4 * 3 * 8
    k = v = 2 * 2 * 5 * 8
    bias, mask = 4 * 3 * 5, 2 * 3 * 5
    assert problem.bytes() == 2 * (q + k + v + output + bias) + mask


def test_defaults_follow_from_other_fields():
    problem = AttentionProblem(heads=4, seq_q=10, head_dim=16)
    derived = (problem.kv_heads, problem.seq_kv, problem.head_dim_v, problem.scale, problem.dtype)
    assert derived == (4, 10, 16, 0.25, "f32")


def test_packed_problem_derives_batch_and_longest_sequences():
    problem = AttentionProblem(heads=2, head_dim=4, cu_seqlens_q=(0, 3, 3, 8), cu_seqlens_kv=(0, 1, 7, 7))
    assert (problem.batch, problem.seq_q, problem.seq_kv) == (3, 5, 6)
    assert (problem.q_shape, problem.k_shape) == ((8, 2, 4), (7, 2, 4))


@pytest.mark.parametrize(
    ("fields", "plain"),
    [
        ({"mask_axes": "k"}, {}),
        ({"bias_axes": "b", "mask": True}, {"mask": True}),
        ({"causal_alignment": "top-left"}, {}),
        ({"scale": -0.0}, {"scale": 0.0}),
    ],
)
def test_equal_problems_have_one_spelling(fields, plain):
    one, other = (AttentionProblem(heads=2, seq_q=8, head_dim=16, **some) for some in (fields, plain))
    assert one.model_dump_json() == other.model_dump_json()


@pytest.mark.parametrize(
    ("changes", "hidden"),
    [
        ({}, (None, None)),
        ({"window": (2, 0)}, (1, 4)),
        ({"window": (3, 1)}, (0, None)),
        ({"window": (4, 2)}, (None, None)),
        ({"window": (9, 9)}, (None, None)),
        ({"causal": True}, (None, 4)),
        ({"causal": True, "seq_q": 1}, (None, None)),
        ({"causal": True, "seq_q": 1, "causal_alignment": "top-left"}, (None, 1)),
        ({"window": (1, 0), "seq_q": 1}, (3, None)),
    ],
    ids=str,
)
def test_a_side_that_hides_nothing_from_any_query_has_no_bound(
    changes: dict[str, Any], hidden: tuple[int | None, int | None]
) -> None:
    problem = AttentionProblem(**{"heads": 1, "seq_q": 2, "seq_kv": 5, "head_dim": 4, **changes})
    assert problem.hiding_window(problem.seq_q, problem.seq_kv) == hidden


@pytest.mark.parametrize("window", [(-1, -1), (None, None), (-1, None)])
def test_unlimited_window_is_no_window(window):
    assert AttentionProblem(heads=1, seq_q=4, head_dim=4, window=window).window is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"heads": 6, "kv_heads": 4}, "heads 6 is not a multiple of kv_heads 4"),
        ({"heads": -2}, "heads: Input should be greater than 0, found -2"),
        ({"heads": 2.0}, "heads: Input should be a valid integer, found 2.0"),
        ({"kv_lengths": [1.5]}, "kv_lengths.0: Input should be a valid integer, found 1.5"),
        ({"dtype": "f8"}, "dtype: Input should be 'f32', 'f16' or 'bf16', found \"f8\""),
        ({"softcap": 1e31}, "softcap: Input should be less than or equal to"),
        ({"scale": -1e39}, "scale: Input should be greater than or equal to"),
        ({"seq_q": 3_000_000_000}, "seq_q: Input should be less than or equal to 2147483647"),
        ({"batch": 10**30}, "batch: found an integer of 100 bits, expected one of at most 64 bits"),
        ({"seq_q": 2**31 - 1, "head_dim": 2**20}, "FLOPs is too large, expected fewer than 2⁶³"),
        ({"window": (-2, 0)}, "window.0: Input should be greater than or equal to -1, found -2"),
        ({"kv_lengths": (1, 2)}, "kv_lengths has 2 values for batch 1"),
        ({"kv_lengths": (9,)}, "kv_lengths must lie in 0 … seq_kv 8: found [9]"),
        ({"cu_seqlens_q": (0, 8)}, "cu_seqlens_q and cu_seqlens_kv come together"),
        (
            {"cu_seqlens_q": (1, 8), "cu_seqlens_kv": (0, 8)},
            "cu_seqlens_q: found [1, 8], expected at least two",
        ),
        (
            {"cu_seqlens_q": (0, 4), "cu_seqlens_kv": (0, 8)},
            "seq_q is 8, the longest sequence of cu_seqlens_q 4",
        ),
        (
            {"cu_seqlens_q": (0, 8), "cu_seqlens_kv": (0, 8), "mask": True},
            "mask and bias are for padded batches",
        ),
        (
            {"cu_seqlens_q": (0, 8), "cu_seqlens_kv": (0, 8), "model_width": 16},
            "model_width is for batches of",
        ),
        ({"model_width": 16, "seq_kv": 5}, "expected seq_q = seq_kv, found 8 and 5"),
        ({"seq": 8}, "seq: unknown key (did you mean seq_q?); allowed: batch, heads, "),
    ],
)
def test_bad_field_is_the_one_error(fields, message):
    with pytest.raises(InputError) as caught:
        AttentionProblem(**{"heads": 2, "seq_q": 8, "head_dim": 8, **fields})
    assert message in str(caught.value)
    assert len(caught.value.lines) == 1


@pytest.mark.parametrize("window", [64, (64,), (1, 2, 3), "causal", {"left": 64}])
def test_a_window_is_a_pair(window):
    with pytest.raises(InputError, match=r"^window: found .*, expected a pair \[left, right\]$"):
        AttentionProblem(heads=1, seq_q=8, head_dim=8, window=window)


def test_description_names_what_differs_from_the_default():
    problem = AttentionProblem(
        batch=2,
        heads=8,
        kv_heads=2,
        seq_q=5,
        seq_kv=7,
        head_dim=64,
        head_dim_v=32,
        dtype="f16",
        causal=True,
        scale=1,
    )
    assert problem.describe() == "b2 h8/2 s5×7 d64/32 f16 causal scale=1"


class TestStrictness:
    @pytest.mark.parametrize("dump", ["model_dump", "model_dump_json"])
    def test_what_a_problem_says_of_itself_makes_the_same_problem(self, dump):
        problem = AttentionProblem(heads=2, seq_q=8, head_dim=8, window=(3, -1), softcap=2, kv_lengths=[8])
        again = getattr(problem, dump)()
        read = (
            AttentionProblem.model_validate_json
            if isinstance(again, str)
            else AttentionProblem.model_validate
        )
        assert read(again) == problem


class TestSizes:
    def test_planning_allocates_nothing_by_size(self):
        tracemalloc.start()
        problem = AttentionProblem(batch=2**20, heads=1, seq_q=2**19, head_dim=1, causal=True, window=(9, -1))
        assert problem.flops() > 0
        assert problem.describe()
        assert problem.queries_without_keys() == 0
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2**20


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**20, max_value=10**400),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.lists(st.one_of(st.integers(-2, 9), st.floats(), st.none(), st.text(max_size=2)), max_size=4),
    st.dictionaries(st.integers(), st.integers(), max_size=2),
    st.sampled_from([object(), {1}, np.array([[1, 2]]), np.float16("nan"), 1j, "f16", (0, 3), [0, 2, 2]]),
)
LIKELY = st.one_of(st.integers(1, 9), JUNK)


@given(
    fields=st.dictionaries(st.sampled_from(list(AttentionProblem.model_fields)), LIKELY),
    most=st.fixed_dictionaries({"heads": LIKELY, "seq_q": LIKELY, "head_dim": LIKELY}),
)
@settings(max_examples=300)
def test_whatever_the_fields_are_only_an_input_error_comes_of_them(fields, most):
    given = {**most, **fields}
    with contextlib.suppress(InputError):
        assert AttentionProblem(**given).describe()
    with contextlib.suppress(ValidationError):
        AttentionProblem.model_validate(given)


def test_different_lengths_and_numbers_are_described_differently() -> None:
    sizes: dict[str, Any] = {"batch": 40, "heads": 2, "seq_q": 64, "head_dim": 64, "dtype": "f32"}
    lengths = [list(range(1, 41)), [*range(1, 39), 38, 40]]
    packed = [np.cumsum([0, 64, *ones]).tolist() for ones in ([1] * 39, [2, *[1] * 38])]
    given = [
        {},
        *({"kv_lengths": values} for values in lengths),
        *({"cu_seqlens_q": values, "cu_seqlens_kv": values} for values in packed),
        *({"scale": value} for value in (0.5, 0.50000001)),
        *({"softcap": value} for value in (20.0, 20.0000001)),
    ]
    described = [AttentionProblem(**sizes, **values).describe() for values in given]
    assert len(set(described)) == len(given)
    assert max(map(len, described)) < 150
