"""An executable that gives code other inputs than its own: in all else it is that code."""

from contextlib import AbstractContextManager

from harness.artifact.bound_call import Executable
from harness.artifact.device_facts import DriverMetrics


class WrappedExecutable(Executable):
    """Code, and what its calls are made of."""

    def __init__(self, code: Executable) -> None:
        self.code = code

    def turn(self) -> AbstractContextManager[object]:
        """Return the turn of the code."""
        return self.code.turn()

    def take_process(self) -> None:
        """Set the process up as the code asks for."""
        self.code.take_process()

    def driver_metrics(self) -> DriverMetrics:
        """Return what the device's driver says of the code."""
        return self.code.driver_metrics()
