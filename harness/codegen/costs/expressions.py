"""Integers that a kernel computes, as expressions in the variables of its loops.

Only integers that decide what is executed (trip counts, conditions, sizes) are ever evaluated.  An expression
knows the loop variables that it depends on: that is how a loop knows whether its iterations cost the same.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Protocol

from harness.codegen.costs.costs import NotCountable


class Dependent(Protocol):
    """What depends on the variables of loops: an integer, or what a piece of a kernel executes."""

    variables: "frozenset[Variable]"


class Expression:
    """An integer; expressions are equal only if they are the same object."""

    def __init__(
        self, evaluate: "Callable[[Bindings], int]", variables: "frozenset[Variable]" = frozenset()
    ) -> None:
        self.evaluate = evaluate
        """Returns the integer; raises `NotCountable` if it cannot be known."""
        self.variables = variables


class Constant(Expression):
    """A number."""

    def __init__(self, number: int) -> None:
        super().__init__(lambda bindings: number)
        self.number = number


class Variable(Expression):
    """A loop's induction variable, or an integer that the loop carries."""

    def __init__(self) -> None:
        super().__init__(lambda bindings: bindings.values[self], frozenset([self]))


class Unknown(Expression):
    """An integer that the IR does not tell, and why."""

    def __init__(self, reason: str) -> None:
        def refuse(bindings: Bindings) -> int:
            raise NotCountable(reason)

        super().__init__(refuse)


class Bindings:
    """Values of loop variables, and of what was computed from them."""

    def __init__(self, values: Mapping[Variable, int]) -> None:
        self.values = values
        self._computed: dict[Expression, int] = {}

    def value_of(self, expression: Expression) -> int:
        """Return an expression's value, computed once."""
        value = self._computed.get(expression)
        if value is None:
            value = self._computed[expression] = expression.evaluate(self)
        return value

    def with_values(self, values: Mapping[Variable, int]) -> "Bindings":
        """Return these bindings with further variables bound."""
        return Bindings({**self.values, **values})


def computed(function: Callable[..., int], *operands: Expression) -> Expression:
    """Return a function of integers, evaluated at once where they are all constants."""
    for operand in operands:
        if isinstance(operand, Unknown):
            return operand
    numbers = [operand.number for operand in operands if isinstance(operand, Constant)]
    if len(numbers) == len(operands):
        with suppress(ZeroDivisionError):
            return Constant(function(*numbers))

    def evaluate(bindings: Bindings) -> int:
        try:
            return function(*map(bindings.value_of, operands))
        except ZeroDivisionError as error:
            raise NotCountable("an integer that decides what is executed is divided by zero") from error

    return Expression(evaluate, variables_of(operands))


def selected(condition: Expression, if_true: Expression, if_false: Expression) -> Expression:
    """Return one of two integers; only the one that is chosen need be known."""
    if isinstance(condition, Constant):
        return if_true if condition.number else if_false
    if same(if_true, if_false):
        return if_true
    return Expression(
        lambda bindings: bindings.value_of(if_true if bindings.value_of(condition) else if_false),
        variables_of([condition, if_true, if_false]),
    )


def product(factors: Iterable[Expression]) -> Expression:
    """Return the product of integers."""
    return computed(lambda *numbers: math.prod(numbers), *factors)


def same(first: Expression, second: Expression) -> bool:
    """Whether two expressions are known to be equal."""
    if isinstance(first, Constant) and isinstance(second, Constant):
        return first.number == second.number
    return first is second


def variables_of(parts: Iterable[Dependent]) -> frozenset[Variable]:
    """Return all variables that expressions or cost trees depend on."""
    return frozenset().union(*(part.variables for part in parts))
