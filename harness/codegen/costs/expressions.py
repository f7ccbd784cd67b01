"""Integers that a kernel computes, as expressions in the variables of its loops.

Only integers that decide what is executed (trip counts, conditions, sizes) are ever evaluated.  An
expression knows the loop variables that it depends on and, where it has one, its period in each of them:
that is how a loop knows which of its iterations cost the same.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from harness.codegen.costs.costs import NotCountable


class Dependent:
    """What depends on the variables of loops: an integer, or what a piece of a kernel executes."""

    variables: "frozenset[Variable]" = frozenset()

    def period(self, variable: "Variable") -> int | None:
        """Return P > 0 such that adding P to a variable ≥ 0 changes nothing, or None if no P is known."""
        return None if variable in self.variables else 1


class Expression(Dependent, ABC):
    """An integer; expressions are equal only if they are the same object."""

    @abstractmethod
    def value(self, bindings: "Bindings") -> int:
        """Return the integer; raises `NotCountable` if it cannot be known."""


class Constant(Expression):
    """A number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def value(self, bindings: "Bindings") -> int:
        """Return the number."""
        return self.number


class Variable(Expression):
    """A loop's induction variable, or an integer that the loop carries."""

    def __init__(self) -> None:
        self.variables = frozenset([self])

    def value(self, bindings: "Bindings") -> int:
        """Return the value in the current iteration."""
        return bindings.values[self]


class Unknown(Expression):
    """An integer that the IR does not tell, and why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def value(self, bindings: "Bindings") -> int:
        """Raise `NotCountable`: this integer is needed after all."""
        raise NotCountable(self.reason)


class Function(Expression):
    """What depends on other integers, and repeats where all of them do."""

    def __init__(self, operands: Sequence[Expression]) -> None:
        self.operands = tuple(operands)
        self.variables = variables_of(operands)

    def period(self, variable: Variable) -> int | None:
        """Return a common period of the operands."""
        return common_period(self.operands, variable)


class Computed(Function):
    """A function of other integers."""

    def __init__(self, function: Callable[..., int], operands: Sequence[Expression]) -> None:
        super().__init__(operands)
        self.function = function

    def value(self, bindings: "Bindings") -> int:
        """Apply the function."""
        try:
            return self.function(*(bindings.value_of(operand) for operand in self.operands))
        except ZeroDivisionError as error:
            raise NotCountable("an integer that decides what is executed is divided by zero") from error


class Remainder(Computed):
    """A variable's remainder by a positive constant; the operand must be the variable itself."""

    def __init__(self, function: Callable[..., int], variable: Variable, divisor: Constant) -> None:
        super().__init__(function, [variable, divisor])
        self.divisor = divisor.number

    def period(self, variable: Variable) -> int | None:
        """Return the divisor."""
        return self.divisor if variable in self.variables else 1


class Selected(Function):
    """One of two integers, after the condition; only the one that is chosen need be known."""

    def value(self, bindings: "Bindings") -> int:
        """Evaluate the condition, then the integer that it chooses."""
        condition, if_true, if_false = self.operands
        return bindings.value_of(if_true if bindings.value_of(condition) else if_false)


class Bindings:
    """Values of loop variables, and of what was computed from them."""

    def __init__(self, values: Mapping[Variable, int]) -> None:
        self.values = values
        self._computed: dict[Expression, int] = {}

    def value_of(self, expression: Expression) -> int:
        """Return an expression's value, computed once."""
        value = self._computed.get(expression)
        if value is None:
            value = self._computed[expression] = expression.value(self)
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
    return Computed(function, operands)


def remainder(function: Callable[..., int], operand: Expression, divisor: Expression) -> Expression:
    """Return a remainder, which is periodic in a loop's variable."""
    if isinstance(operand, Variable) and isinstance(divisor, Constant) and divisor.number > 0:
        return Remainder(function, operand, divisor)
    return computed(function, operand, divisor)


def selected(condition: Expression, if_true: Expression, if_false: Expression) -> Expression:
    """Return one of two integers."""
    if isinstance(condition, Constant):
        return if_true if condition.number else if_false
    return if_true if same(if_true, if_false) else Selected([condition, if_true, if_false])


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


def common_period(parts: Iterable[Dependent], variable: Variable) -> int | None:
    """Return a period that all expressions or cost trees have in a variable, or None."""
    periods = [part.period(variable) for part in parts]
    existing_periods = [period for period in periods if period is not None]
    return math.lcm(*existing_periods) if len(existing_periods) == len(periods) else None
