"""Copies of this process that code forks off: none comes back into the code that called it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_copy_returns() -> Iterator[None]:
    """Run code of somebody else's; a copy of this process that it forks off ends where it comes out of here.

    It would do everything a second time that is done after the code: answer, store what was built, remove
    folders.  A copy that ends itself, by `sys.exit`, has the exit status that it asks for; nothing is cleaned
    up on its way.
    """
    own = os.getpid()
    status: object = 1
    try:
        yield
    except SystemExit as ending:
        status = 0 if ending.code is None else ending.code
        raise
    finally:
        if os.getpid() != own:
            os._exit(status & 0xFF if isinstance(status, int) else 1)
