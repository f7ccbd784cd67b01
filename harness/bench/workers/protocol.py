"""What is said between the harness and its worker processes.

A request is a function of a worker's `Life`: `functools.partial` gives it all other arguments, and what it
returns is the answer.  Paths in it are absolute, for a worker works in another folder.  Both sides are the
same version of this package, so messages are pickled.
"""

import pickle
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from harness.artifact.artifact import Artifact

Answer = TypeVar("Answer")
Kept = TypeVar("Kept")

LENGTH_BYTES = 8
"""What says how long a message is, before it."""


def send_message(channel: socket.socket, message: object) -> None:
    """Write a request or an answer."""
    data = pickle.dumps(message)
    channel.sendall(len(data).to_bytes(LENGTH_BYTES, "little") + data)


def receive_message(channel: socket.socket) -> Any:
    """Read a request or an answer; raises `EOFError` where the other side has closed the channel, or died."""
    length = int.from_bytes(_read(channel, LENGTH_BYTES), "little")
    return pickle.loads(_read(channel, length))


def _read(channel: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        try:
            part = channel.recv(length - len(data), socket.MSG_WAITALL)
        except ConnectionResetError:
            part = b""
        if not part:
            raise EOFError
        data += part
    return data


class Life:
    """What requests leave for those that follow in one life of a worker: one object of each type."""

    def __init__(self) -> None:
        self._objects: dict[type, object] = {}
        self.begins_others = False
        """Whether forks of this process are to serve from now on, each with what is kept now."""

    def keep(self, thing: object) -> None:
        """Keep an object in the place of that of the same type."""
        self._objects[type(thing)] = thing

    def forget(self, kind: type) -> None:
        """Release the object of a type, if there is one."""
        self._objects.pop(kind, None)

    def kept(self, kind: type[Kept]) -> Kept:
        """Return the object of a type; raises `RuntimeError` where no request has left one."""
        thing = self._objects.get(kind)
        if not isinstance(thing, kind):
            raise RuntimeError(f"this life has no {kind.__name__}")
        return thing


Request = Callable[[Life], Answer]
"""Something that a worker is asked; what it raises is a failure of the request."""


@dataclass(frozen=True)
class Greeting:
    """What a worker says first in each of its lives: it has started, and which process it is."""

    pid: int


@dataclass(frozen=True)
class KeyFound:
    """The case's content key and the device its code would run on."""

    key: str
    device: str
    code: dict[str, str]
    """Digests of the sources that the key is of, by package."""


@dataclass(frozen=True)
class Built:
    """A built case."""

    artifact: Artifact
    folder: Path
    cached: bool
    """Whether the artifact was in the cache already, so that its build times are from an earlier run."""
