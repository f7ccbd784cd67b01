"""The order of a lane's instructions: each just before it is needed, and no read after what writes."""

import re

import pytest
from mlir import ir

from harness.targets.gpu.product_order import compute_just_in_time

LOOP = """
func.func @lane(%from: memref<8xf32>, %to: memref<8xf32>, %x: vector<4xf32>) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %one step %one {{
    {body}
  }}
  return
}}
"""

TAIL = """
gpu.module @kernels {{
  gpu.func @lane(%from: memref<8xf32>, %to: memref<8xf32>, %x: vector<4xf32>) kernel {{
    %i = arith.constant 0 : index
    %one = arith.constant 1 : index
    {before}
    scf.for %j = %i to %one step %one {{
      "some.wait"() : () -> ()
    }}
    {behind}
    gpu.return
  }}
}}
"""


OPERATIONS = {
    "read": '%{0} = vector.load %from[%i] {{mark = "{0}"}} : memref<8xf32>, vector<4xf32>',
    "add": '%{0} = arith.addf %{1}, %x {{mark = "{0}"}} : vector<4xf32>',
    "product": (
        '%{0} = "some.product"(%{1}, %x) {{mark = "{0}"}} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>'
    ),
    "wait": '"some.wait"() {{mark = "wait"}} : () -> ()',
    "write": 'vector.store %{0}, %to[%i] {{mark = "write"}} : memref<8xf32>, vector<4xf32>',
    "yes": "%yes = arith.constant true",
    "if": "scf.if %yes {{",
    "end": "}}",
}
"""By the word that a body has for it; names of what it gives, and takes, follow."""


def lines(body: str) -> str:
    """Return a body's operations, which commas part: `read a, product p a`."""
    words = [operation.split() for operation in body.split(",")]
    return "\n    ".join(OPERATIONS[kind].format(*names) for kind, *names in words)


def marks(template: str, **bodies: str) -> list[str]:
    """Return the marks of operations in their order afterwards."""
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(template.format(**{name: lines(body) for name, body in bodies.items()}))
        compute_just_in_time(module)
        module.operation.verify()
        text = module.operation.get_asm(use_name_loc_as_prefix=False)
    return re.findall(r'mark = "(\w+)"', text)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("read a, read b, add c b, product p a, product q c, write p, write q", "a p b c q write write"),
        ("read a, product p x, product q a, product r p, write r", "p a q r write"),
        ("read a, read b, wait, product p b, product q a, write q", "a b wait p q write"),
        ("read a, write x, add c a, write c", "a write c write"),
        ("add c x, wait", "wait c"),
        ("yes, add c x, product p x, if, write c, end", "p c write"),
    ],
    ids=[
        "just before",
        "products in order",
        "before a wait",
        "before a write",
        "not needed",
        "in a condition",
    ],
)
def test_operations_stand_just_before_what_needs_them(body: str, expected: str) -> None:
    assert marks(LOOP, body=body) == expected.split()


def test_what_stands_behind_a_loop_is_ordered_and_not_what_stands_before() -> None:
    before, behind = (
        f"read {n}a, read {n}b, product {n}p {n}a, product {n}q {n}b, write {n}p, write {n}q" for n in "xy"
    )
    expected = "xa xb xp xq write write ya yp yb yq write write"
    assert marks(TAIL, before=before, behind=behind) == expected.split()
