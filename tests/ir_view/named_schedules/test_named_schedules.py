"""The known forms: what they look like and what they compute."""

import re
import subprocess
import sys

import numpy as np
import pytest
from codegen.rewrites.execution import add_caller, execute
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.codegen.dialect.context import mlir_context
from harness.ir_view.named_schedules.registry import SCHEDULES
from harness.variants.schedule import apply

FLASH = [
    "flash-published",
    "flash-kv-outer",
    "flash-q-outer",
    "flash-final-division",
    "attention-operation",
]
PROJECTED = ["split-head", "multi-query"]


def texts(name, **sizes):
    return SCHEDULES[name].record_stages(**sizes).texts


def computed(name, inputs, **sizes):
    """Return what the last stage computes."""
    schedule = SCHEDULES[name]
    with mlir_context():
        module = schedule.build(**sizes)
        apply(schedule.steps(**sizes), module)
        return execute(module, inputs, module.body.operations[0].name.value)[0]


def attention(query, key, value):
    score = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    weight = np.exp(score - score.max(-1, keepdims=True))
    return weight / weight.sum(-1, keepdims=True) @ value


def random(*shapes):
    rng = np.random.default_rng(5)
    return [rng.normal(size=shape) for shape in shapes]


def heads_of(tokens, weights, heads):
    """Return a projection, split into heads, `[batch, head, seq, width]`."""
    batch, seq, _ = tokens.shape
    return (tokens @ weights).reshape(batch, seq, heads, -1).transpose(0, 2, 1, 3)


@pytest.mark.parametrize("name", SCHEDULES)
def test_starts_with_the_payload_and_ends_in_upstream_dialects(name):
    stages = texts(name)
    assert next(iter(stages)) == "payload"
    assert list(stages)[-1] == "linalg"
    assert "scf." not in stages["payload"]
    assert "scf.for" in stages["linalg"]
    assert "attn." not in stages["linalg"]


@settings(max_examples=4)
@given(
    sizes=st.fixed_dictionaries(
        {name: st.integers(1, 9) for name in ("seq_kv", "head_dim")}
        | {"seq_q": st.sampled_from([1, 3, 4, 8])}
        | {name: st.integers(1, 2) for name in ("batch", "heads")}
    )
)
@pytest.mark.parametrize("name", FLASH)
def test_flash_computes_attention(name, sizes):
    shapes = [(sizes["batch"], sizes["heads"], sizes[seq], sizes["head_dim"]) for seq in ("seq_q", "seq_kv")]
    query, key, value = random(shapes[0], shapes[1], shapes[1])
    found = computed(name, [query, key, value, np.full_like(query, np.nan)], **sizes)
    np.testing.assert_allclose(found, attention(query, key, value), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["naive", "upstream-fuse", "flash-from-linalg"])
@pytest.mark.parametrize("sizes", [{}, {"seq_q": 8, "seq_kv": 7}, {"seq_q": 3, "seq_kv": 4}])
def test_the_correct_naive_forms_compute_attention(name, sizes):
    inputs = naive_inputs(sizes)
    np.testing.assert_allclose(computed(name, inputs, **sizes), attention(*inputs[:3]), rtol=2e-5)


@pytest.mark.parametrize(("queries", "keys"), [(8, 12), (3, 1), (5, 7)])
def test_one_form_of_any_length_computes_attention_of_each(queries, keys):
    schedule, shapes = SCHEDULES["flash-any-length"], [(queries, 4), (keys, 4), (keys, 4), (queries, 4)]
    query, key, value, place = random(*shapes)
    with mlir_context():
        module = schedule.build()
        apply(schedule.steps(), module)
        add_caller(module, "attention", shapes)
        (found,) = execute(module, [query, key, value, place])
    np.testing.assert_allclose(found, attention(query, key, value), rtol=2e-5, atol=1e-6)


def naive_inputs(sizes):
    sizes = {**SCHEDULES["naive"].sizes, **sizes}
    query, key = ((sizes[seq], sizes["head_dim"]) for seq in ("seq_q", "seq_kv"))
    return [*random(query, key, key), np.full(query, np.nan)]


@pytest.mark.parametrize("name", ["naive-published", "upstream-fuse-published"])
def test_the_published_naive_form_leaves_only_the_last_key_tile(name):
    query, key, value, place = naive_inputs({})
    found = computed(name, [query, key, value, place])
    exact = attention(query, key, value)
    assert np.abs(found - exact).max() > 0.1
    only_last = np.where(np.arange(12)[:, None] >= 8, value, 0.0)
    np.testing.assert_allclose(found, attention(query, key, only_last), rtol=2e-5, atol=1e-6)


def test_attention_is_tiled_as_an_operation_and_then_taken_apart():
    stages = texts("attention-operation")
    assert stages["query-tiles"].count("attn.attention") == 1
    assert stages["key-tiles"].count("attn.attention") == 1
    assert "attn.attention" not in stages["products-and-softmax"]
    assert stages["products-and-softmax"].count('"attn.softmax"') == 1
    assert stages["products-and-softmax"].count('"attn.batch_matmul"') == 3
    assert '"attn.softmax"' not in stages["softmax-as-linalg"]
    assert '"attn.batch_matmul"' in stages["softmax-as-linalg"]


def test_the_transform_script_is_shown_beside_what_it_is_for_and_is_gone_afterwards():
    stages = texts("upstream-fuse")
    fuse = "transform.structured.fuse %0 tile_sizes [4, 0, 4] interchange [2, 1, 0]"
    assert fuse in stages["transform-script"]
    assert "func.func @attention" in stages["transform-script"]
    assert "transform." not in stages["fused"]
    assert "harness.root" not in stages["fused"]


@pytest.mark.parametrize("name", PROJECTED)
@pytest.mark.parametrize("sizes", [{}, {"seq": 4, "heads": 3, "head_dim": 2}])
def test_attention_with_projections(name, sizes):
    sizes = {**SCHEDULES[name].sizes, **sizes}
    heads, width = sizes["heads"], sizes["head_dim"]
    kv_heads = 1 if name == "multi-query" else heads
    tokens, *weights = random(
        (sizes["batch"], sizes["seq"], sizes["model_width"]),
        *((sizes["model_width"], count * width) for count in (heads, kv_heads, kv_heads)),
    )
    query = heads_of(tokens, weights[0], heads)
    key, value = (
        np.repeat(heads_of(tokens, weight, kv_heads), heads // kv_heads, 1) for weight in weights[1:]
    )
    found = computed(name, [tokens, *weights, np.full(query.shape, np.nan)], **sizes)
    np.testing.assert_allclose(found, attention(query, key, value), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["matmul", "matmul-published"])
def test_the_product_in_three_loops_is_a_product(name):
    left, right, start = random((16, 1024), (1024, 33), (16, 33))
    np.testing.assert_allclose(
        computed(name, [left, right, start]), left @ right + start, rtol=1e-4, atol=1e-3
    )


@pytest.mark.parametrize("name", [*FLASH, "flash-from-linalg"])
def test_no_tensor_of_all_queries_and_keys_is_left(name):
    stages = texts(name)
    names = list(stages)
    assert "8x12x" in stages["payload"] or "attn.attention" in stages["payload"]
    for stage in names[names.index("key-tiles" if "key-tiles" in names else "tiled") :]:
        assert not re.search(r"tensor<(\d+x)*8x12xf32>", stages[stage]), stage
        assert not re.search(r"tensor<(\d+x)*4x12xf32>", stages[stage]), stage


IMPORTS_WHILE_TIMED = """
import sys
from harness.codegen.costs.costs import total
from harness.codegen.costs.counter import count
from harness.codegen.dialect.context import mlir_context
from harness.ir_view.named_schedules.registry import SCHEDULES, NamedSchedule

build, known = NamedSchedule.build, set()

def build_and_note(schedule, **sizes):
    known.update(sys.modules)
    return build(schedule, **sizes)

NamedSchedule.build = build_and_note
record = SCHEDULES[sys.argv[1]].record_stages()
assert list(record.seconds) == list(record.texts)
print(*sorted(set(sys.modules) - known))
"""


@pytest.mark.parametrize("name", ["matmul", "naive", "split-head"])
def test_nothing_is_imported_while_stages_are_timed(name):
    command = [sys.executable, "-c", IMPORTS_WHILE_TIMED, name]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []
