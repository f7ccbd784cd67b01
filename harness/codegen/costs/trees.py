"""Cost trees: a kernel's loops and branches with what a pass through each of them executes.

A tree is built once from the IR and then evaluated.  Whatever does not depend on a loop's variable is
multiplied by the number of iterations, and only the rest is evaluated iteration by iteration; results are
remembered by the values of the variables they depend on.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.codegen.costs.costs import NotCountable
from harness.codegen.costs.expressions import Bindings, Constant, Expression, Variable, variables_of

Amounts = Mapping[Hashable, int]
"""How much of each counted thing: keys are opaque here."""

Bounds = tuple[Expression, Expression, Expression]
"""Where a loop starts, ends, and its step."""


class CostTree(ABC):
    """What a piece of a kernel executes."""

    variables: frozenset[Variable] = frozenset()

    @abstractmethod
    def amounts(self, bindings: Bindings) -> Amounts:
        """Return how much is executed; raises `NotCountable` where that cannot be known."""


class Fixed(CostTree):
    """Amounts that are the same whenever they are executed."""

    def __init__(self, fixed: Amounts) -> None:
        self.fixed = fixed

    def amounts(self, bindings: Bindings) -> Amounts:
        """Return the amounts."""
        return self.fixed


NOTHING = Fixed({})


class Sequence_(CostTree):  # noqa: N801 - Sequence is taken
    """One thing after another."""

    def __init__(self, parts: Sequence[CostTree]) -> None:
        self.parts = parts
        self.variables = variables_of(parts)

    def amounts(self, bindings: Bindings) -> Amounts:
        """Add up the parts."""
        return _sum((part.amounts(bindings), 1) for part in self.parts)


class Branch(CostTree):
    """One thing or another."""

    def __init__(self, condition: Expression, if_true: CostTree, if_false: CostTree) -> None:
        self.condition = condition
        self.branches = (if_true, if_false)
        self.variables = variables_of([condition, if_true, if_false])

    def amounts(self, bindings: Bindings) -> Amounts:
        """Evaluate the condition, then the branch that it chooses."""
        if_true, if_false = self.branches
        return (if_true if bindings.value_of(self.condition) else if_false).amounts(bindings)


@dataclass(frozen=True)
class Carried:
    """An integer that a loop carries from iteration to iteration."""

    variable: Variable
    initial: Expression
    next: Expression


class Loop(CostTree):
    """A body for `variable` from a lower to an upper bound in steps."""

    def __init__(
        self, variable: Variable, bounds: Bounds, body: CostTree, carried: Sequence[Carried] = ()
    ) -> None:
        self.variable = variable
        self.bounds = bounds
        self.body = body
        self.carried = carried
        inside = body.variables
        self._follows_carried = any(integer.variable in inside for integer in carried)
        outside = variables_of(bounds)
        if self._follows_carried:
            inside = inside | variables_of(integer.next for integer in carried)
            outside |= variables_of(integer.initial for integer in carried)
        self.variables = outside | (inside - {variable} - {integer.variable for integer in carried})
        self._order = tuple(self.variables)
        self._remembered: dict[tuple[int, ...], Amounts] = {}

    def amounts(self, bindings: Bindings) -> Amounts:
        """Add up the iterations, each distinct one evaluated once."""
        key = tuple(bindings.value_of(variable) for variable in self._order)
        if key not in self._remembered:
            self._remembered[key] = self._evaluated(bindings)
        return self._remembered[key]

    def _evaluated(self, bindings: Bindings) -> Amounts:
        iterations = loop_range(self.bounds, bindings)
        if self._follows_carried:
            passes = carried_iterations(self.variable, iterations, self.carried, bindings)
            return _sum((self.body.amounts(current), 1) for current in passes)
        distinct = iterations if self.variable in self.body.variables else iterations[:1]
        return _sum(
            (
                self.body.amounts(bindings.with_values({self.variable: number})),
                len(iterations) // len(distinct),
            )
            for number in distinct
        )


def final_value(variable: Variable, bounds: Bounds, carried: Sequence[Carried], position: int) -> Expression:
    """Return what an integer that a loop carries is after the loop."""

    def evaluate(bindings: Bindings) -> int:
        final = bindings.value_of(carried[position].initial)
        for current in carried_iterations(variable, loop_range(bounds, bindings), carried, bindings):
            final = current.value_of(carried[position].next)
        return final

    own = {variable, *(integer.variable for integer in carried)}
    parts = [part for integer in carried for part in (integer.initial, integer.next)]
    return Expression(evaluate, variables_of([*bounds, *parts]) - own)


def sequence(parts: Iterable[CostTree]) -> CostTree:
    """Return the parts one after another, those that are fixed added up."""
    flat: list[CostTree] = []
    for part in parts:
        flat += part.parts if isinstance(part, Sequence_) else [part]
    fixed = _sum((part.fixed, 1) for part in flat if isinstance(part, Fixed))
    varying = [part for part in flat if not isinstance(part, Fixed)]
    if not varying:
        return Fixed(fixed)
    return Sequence_([Fixed(fixed), *varying] if fixed else varying)


def branch(condition: Expression, if_true: CostTree, if_false: CostTree) -> CostTree:
    """Return one of two trees; the condition need not be known if they cost the same."""
    if isinstance(if_true, Fixed) and isinstance(if_false, Fixed) and if_true.fixed == if_false.fixed:
        return if_true
    if isinstance(condition, Constant):
        return if_true if condition.number else if_false
    return Branch(condition, if_true, if_false)


def loop(variable: Variable, bounds: Bounds, body: CostTree, carried: Sequence[Carried] = ()) -> CostTree:
    """Return a loop, multiplied out where its bounds and its body are fixed."""
    if isinstance(body, Fixed):
        if not body.fixed:
            return NOTHING
        if all(isinstance(bound, Constant) for bound in bounds):
            return Fixed(_sum([(body.fixed, len(loop_range(bounds, Bindings({}))))]))
    return Loop(variable, bounds, body, carried)


def nest(variables: Sequence[Variable], sizes: Sequence[Expression], body: CostTree) -> CostTree:
    """Return a nest of loops from 0 to each size, the first one outermost."""
    for variable, size in reversed(list(zip(variables, sizes, strict=True))):
        body = loop(variable, (Constant(0), size, Constant(1)), body)
    return body


def repeated(count: Expression, body: CostTree) -> CostTree:
    """Return a tree executed `count` times."""
    return nest([Variable()], [count], body)


def loop_range(bounds: Bounds, bindings: Bindings) -> range:
    """Return the values of a loop's variable; raises `NotCountable` for a step that is not positive."""
    lower, upper, step = (bindings.value_of(bound) for bound in bounds)
    if step <= 0:
        raise NotCountable(f"a loop has step {step}; only positive steps are loops of the scf dialect")
    return range(lower, upper, step)


def carried_iterations(
    variable: Variable, iterations: range, carried: Sequence[Carried], bindings: Bindings
) -> Iterable[Bindings]:
    """Yield the bindings of each iteration of a loop that carries integers."""
    state = {integer.variable: bindings.value_of(integer.initial) for integer in carried}
    for number in iterations:
        current = bindings.with_values({variable: number, **state})
        yield current
        state = {integer.variable: current.value_of(integer.next) for integer in carried}


def _sum(weighted: Iterable[tuple[Amounts, int]]) -> Amounts:
    result: Counter[Hashable] = Counter()
    for amounts, weight in weighted:
        for key, amount in amounts.items():
            result[key] += amount * weight
    return {key: amount for key, amount in result.items() if amount}
