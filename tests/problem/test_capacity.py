"""Capacities of problems."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from harness.problem.attention_problem import AttentionProblem
from harness.problem.capacity import of_capacity, with_room

LENGTHS = st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), min_size=1, max_size=9)


def packed(lengths: list[tuple[int, int]]) -> AttentionProblem:
    starts_q, starts_kv = (tuple(itertools.accumulate(own, initial=0)) for own in zip(*lengths, strict=True))
    return AttentionProblem(heads=2, head_dim=4, cu_seqlens_q=starts_q, cu_seqlens_kv=starts_kv)


@given(lengths=LENGTHS, order=st.randoms(use_true_random=False))
def test_a_capacity_is_that_of_the_same_sequences_in_any_order(lengths, order) -> None:
    problem, capacity = packed(lengths), of_capacity(packed(lengths))
    order.shuffle(lengths)
    assert of_capacity(packed(lengths)) == capacity == of_capacity(capacity)
    assert AttentionProblem(**capacity.model_dump()) == capacity
    assert (capacity.q_shape, capacity.k_shape) == (problem.q_shape, problem.k_shape)
    assert (capacity.batch, capacity.seq_q, capacity.seq_kv) == (problem.batch, problem.seq_q, problem.seq_kv)


@given(lengths=LENGTHS)
def test_a_room_is_a_valid_capacity_that_holds_the_problem(lengths) -> None:
    problem, room = packed(lengths), with_room(packed(lengths))
    assert AttentionProblem(**room.model_dump()) == room == of_capacity(room)
    assert room.q_shape[0] >= problem.q_shape[0]
    assert room.k_shape[0] >= problem.k_shape[0]
    assert (room.batch >= problem.batch, room.seq_kv >= problem.seq_kv) == (True, True)
    assert (room.seq_q == 1) == (problem.seq_q == 1)


def test_key_lengths_are_no_part_of_a_capacity() -> None:
    problems = [
        AttentionProblem(batch=2, heads=1, seq_q=9, head_dim=4, kv_lengths=own) for own in ((0, 9), (3, 4))
    ]
    assert of_capacity(problems[0]) == of_capacity(problems[1])
    plain = AttentionProblem(heads=1, seq_q=9, head_dim=4)
    assert of_capacity(plain) == plain
