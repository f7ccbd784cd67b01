"""Random loop nests: as MLIR, and interpreted by brute force.

Indices are expressions in the variables of the loops around them, written as nested tuples:
`("i", 2)` is the third variable in scope, `("c", 7)` a constant, `("add", a, b)` and so on an operation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Index = tuple[Any, ...]

OPERATIONS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "add": ("arith.addi", lambda a, b: a + b),
    "sub": ("arith.subi", lambda a, b: a - b),
    "mul": ("arith.muli", lambda a, b: a * b),
    "min": ("arith.minsi", min),
    "max": ("arith.maxsi", max),
    "floordiv": ("arith.floordivsi", lambda a, b: a // b),
    "ceildiv": ("arith.ceildivsi", lambda a, b: -(-a // b)),
    "mod": ("affine.apply affine_map<(a)[b] -> (a mod b)>", lambda a, b: a % b),
    "remui": ("arith.remui", lambda a, b: (a % 2**64) % b),
    "remsi": ("arith.remsi", lambda a, b: abs(a) % b * (1 if a >= 0 else -1)),
}
BY_CONSTANT = ("mul", "floordiv", "ceildiv", "mod", "remui", "remsi")
"""Their second operand is a positive constant."""


@dataclass(frozen=True)
class Work:
    """Additions of vectors of so many elements."""

    elements: int


@dataclass(frozen=True)
class For:
    """A loop; with `carries`, its next variable in scope is an integer that each iteration adds to."""

    lower: Index
    upper: Index
    step: int
    body: tuple[Any, ...]
    carries: bool = False


@dataclass(frozen=True)
class If:
    """A branch on whether one index is below another."""

    left: Index
    right: Index
    then: tuple[Any, ...]
    otherwise: tuple[Any, ...]


CARRIED_STEP = 3


def evaluate(index: Index, scope: list[int]) -> int:
    """Return an index by interpretation."""
    kind, *operands = index
    if kind == "c":
        return operands[0]
    if kind == "i":
        return scope[operands[0] % len(scope)] if scope else 1
    return OPERATIONS[kind][1](*(evaluate(operand, scope) for operand in operands))


def executed(program: tuple[Any, ...], scope: list[int]) -> int:
    """Return the additions that a program executes, by executing it."""
    done = 0
    for step in program:
        if isinstance(step, Work):
            done += step.elements
        elif isinstance(step, If):
            taken = evaluate(step.left, scope) < evaluate(step.right, scope)
            done += executed(step.then if taken else step.otherwise, scope)
        else:
            carried = 0
            for value in range(evaluate(step.lower, scope), evaluate(step.upper, scope), step.step):
                inner = [*scope, value, carried] if step.carries else [*scope, value]
                done += executed(step.body, inner)
                carried += CARRIED_STEP
    return done


class Text:
    """Writes a program as MLIR."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def constant(self, number: int) -> str:
        name = self.name()
        self.lines.append(f"{name} = arith.constant {number} : index")
        return name

    def index(self, index: Index, scope: list[str]) -> str:
        kind, *operands = index
        if kind == "c":
            return self.constant(operands[0])
        if kind == "i":
            return scope[operands[0] % len(scope)] if scope else self.constant(1)
        left, right = (self.index(operand, scope) for operand in operands)
        name = self.name()
        operation = OPERATIONS[kind][0]
        arguments = f"({left})[{right}]" if kind == "mod" else f"{left}, {right} : index"
        self.lines.append(f"{name} = {operation}{'' if kind == 'mod' else ' '}{arguments}")
        return name

    def program(self, program: tuple[Any, ...], scope: list[str]) -> None:
        for step in program:
            if isinstance(step, Work):
                kind = f"vector<{step.elements}xf32>"
                zero = self.name()
                self.lines.append(f"{zero} = arith.constant dense<0.0> : {kind}")
                self.lines.append(f"{self.name()} = arith.addf {zero}, {zero} : {kind}")
            elif isinstance(step, If):
                self._branch(step, scope)
            else:
                self._loop(step, scope)

    def _branch(self, step: If, scope: list[str]) -> None:
        left, right = self.index(step.left, scope), self.index(step.right, scope)
        condition = self.name()
        self.lines.append(f"{condition} = arith.cmpi slt, {left}, {right} : index")
        self.lines.append(f"scf.if {condition} {{")
        self.program(step.then, scope)
        self.lines.append("} else {")
        self.program(step.otherwise, scope)
        self.lines.append("}")

    def _loop(self, step: For, scope: list[str]) -> None:
        lower, upper = self.index(step.lower, scope), self.index(step.upper, scope)
        by, variable = self.constant(step.step), self.name()
        header = f"scf.for {variable} = {lower} to {upper} step {by}"
        if not step.carries:
            self.lines.append(f"{header} {{")
            self.program(step.body, [*scope, variable])
            self.lines.append("}")
            return
        zero, carried, result = self.constant(0), self.name(), self.name()
        self.lines.append(f"{result} = {header} iter_args({carried} = {zero}) -> (index) {{")
        self.program(step.body, [*scope, variable, carried])
        more, following = self.constant(CARRIED_STEP), self.name()
        self.lines.append(f"{following} = arith.addi {carried}, {more} : index")
        self.lines.append(f"scf.yield {following} : index\n}}")


def as_mlir(program: tuple[Any, ...]) -> str:
    """Return a module with the program as its only kernel."""
    text = Text()
    text.program(program, [])
    return "func.func @f() {\n" + "\n".join([*text.lines, "return"]) + "\n}"


def _combined(inner: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
    free = st.tuples(st.sampled_from([name for name in OPERATIONS if name not in BY_CONSTANT]), inner, inner)
    constants = st.tuples(st.just("c"), st.integers(1, 5))
    return free | st.tuples(st.sampled_from(BY_CONSTANT), inner, constants)


INDICES = st.recursive(
    st.tuples(st.just("c"), st.integers(-3, 9)) | st.tuples(st.just("i"), st.integers(0, 5)),
    _combined,
    max_leaves=5,
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    bodies = st.lists(inner, min_size=1, max_size=3).map(tuple)
    bounds = INDICES.map(lambda index: ("min", index, ("c", 12)))
    lowers = INDICES.map(lambda index: ("max", index, ("c", -4)))
    loops = st.builds(For, lowers, bounds, st.integers(1, 3), bodies, st.booleans())
    return loops | st.builds(If, INDICES, INDICES, bodies, bodies)


STEPS = st.recursive(st.builds(Work, st.integers(1, 9)), _nested, max_leaves=6)
PROGRAMS = st.lists(STEPS, min_size=1, max_size=3).map(tuple)
