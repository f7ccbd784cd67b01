"""The order of a lane's instructions: each just before it is needed, and no read after what writes."""

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


def ordered(*lines: str) -> list[str]:
    """Return the names of the values of a loop's body, or of what has none, in their order afterwards."""
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(LOOP.format(body="\n    ".join(lines)))
        compute_just_in_time(module)
        module.operation.verify()
        text = module.operation.get_asm(use_name_loc_as_prefix=False)
        loop = text[text.index("scf.for") : text.index("return")].splitlines()[1:]
        return [named(line) for line in loop if " : " in line or "()" in line]


def named(line: str) -> str:
    """Return what an operation of a body is called by: its mark, else its name."""
    if "mark = " in line:
        return line.split('mark = "')[1].split('"')[0]
    return line.split("=")[-1].split()[0].strip('"').partition("(")[0].strip('"')


READ = '%{name} = vector.load %from[%i] {{mark = "{name}"}} : memref<8xf32>, vector<4xf32>'
ADD = '%{name} = arith.addf %{one}, %{other} {{mark = "{name}"}} : vector<4xf32>'
PRODUCT = (
    '%{name} = "some.product"(%{one}, %x) {{mark = "{name}"}} '
    ": (vector<4xf32>, vector<4xf32>) -> vector<4xf32>"
)
WAIT = '"some.wait"() {mark = "wait"} : () -> ()'
WRITE = 'vector.store %{one}, %to[%i] {{mark = "write"}} : memref<8xf32>, vector<4xf32>'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            [
                READ.format(name="a"),
                READ.format(name="b"),
                ADD.format(name="c", one="b", other="x"),
                PRODUCT.format(name="p", one="a"),
                PRODUCT.format(name="q", one="c"),
                WRITE.format(one="p"),
                WRITE.format(one="q"),
            ],
            ["a", "p", "b", "c", "q", "write", "write"],
        ),
        (
            [
                READ.format(name="a"),
                PRODUCT.format(name="p", one="x"),
                PRODUCT.format(name="q", one="a"),
                PRODUCT.format(name="r", one="p"),
                WRITE.format(one="r"),
            ],
            ["p", "a", "q", "r", "write"],
        ),
        (
            [
                READ.format(name="a"),
                READ.format(name="b"),
                WAIT,
                PRODUCT.format(name="p", one="b"),
                PRODUCT.format(name="q", one="a"),
                WRITE.format(one="q"),
            ],
            ["a", "b", "wait", "p", "q", "write"],
        ),
        (
            [
                READ.format(name="a"),
                WRITE.format(one="x"),
                ADD.format(name="c", one="a", other="x"),
                WRITE.format(one="c"),
            ],
            ["a", "write", "c", "write"],
        ),
        ([ADD.format(name="c", one="x", other="x"), WAIT], ["wait", "c"]),
    ],
    ids=["just before it", "products keep their order", "before a wait", "before a write", "not needed"],
)
def test_what_is_needed_stands_just_before_what_needs_it(body: list[str], expected: list[str]) -> None:
    assert ordered(*body) == expected


def test_what_is_needed_within_a_condition_stands_before_it() -> None:
    body = [
        "%yes = arith.constant true",
        ADD.format(name="c", one="x", other="x"),
        PRODUCT.format(name="p", one="x"),
        "scf.if %yes {",
        WRITE.format(one="c"),
        "}",
    ]
    found = ordered(*body)
    assert found.index("p") < found.index("c") < found.index("write")


def test_what_stands_behind_a_loop_is_ordered_and_what_stands_before_it_is_not() -> None:
    def body(prefix: str) -> str:
        lines = [
            READ.format(name=f"{prefix}a"),
            READ.format(name=f"{prefix}b"),
            PRODUCT.format(name=f"{prefix}p", one=f"{prefix}a"),
            PRODUCT.format(name=f"{prefix}q", one=f"{prefix}b"),
            WRITE.format(one=f"{prefix}p"),
            WRITE.format(one=f"{prefix}q"),
        ]
        return "\n    ".join(lines)

    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(TAIL.format(before=body("x"), behind=body("y")))
        compute_just_in_time(module)
        module.operation.verify()
        text = module.operation.get_asm(use_name_loc_as_prefix=False)
    marks = [line.split('mark = "')[1].split('"')[0] for line in text.splitlines() if "mark = " in line]
    assert marks == ["xa", "xb", "xp", "xq", "write", "write", "ya", "yp", "yb", "yq", "write", "write"]
