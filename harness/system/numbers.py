"""Numbers as files and tables can hold them: what a program says of itself is checked against these."""

from typing import Annotated

from pydantic import Field

INTEGER_LIMIT = 2**63
"""Whole numbers of tables have 64 bits with a sign; this one has no room any more."""

Count = Annotated[int, Field(ge=0, lt=INTEGER_LIMIT)]

MeasuredSeconds = Annotated[float, Field(ge=1e-12, le=1e9)]
"""A time that a clock can have measured: neither 0 nor NaN nor infinite, and nothing overflows later."""

Duration = Annotated[float, Field(ge=0, le=1e9)]
"""A difference of times, which may be 0."""

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]

LONGEST_TIMEOUT_S = 1e6
"""More than a week; systems count no more than a month of milliseconds."""
