"""What a worker imports is what this process imports: the folders of `sys.path`, in the same order.

A script's own folder, a notebook's and what a program adds to `sys.path` are in no environment variable.  A
worker without them would build and check another copy of a plugin than the one that this process calls.
"""

import os
import sys
import sysconfig

from harness.processes.guardian import LATER_IMPORTS


def import_environment() -> dict[str, str]:
    """Return the environment variables that give a worker this process's import path.

    `PYTHONPATH` holds the folders before Python's own modules, then what it holds here and `sys.path` does
    not.  The guardian adds those behind them, which a worker's interpreter has for the most part.  Folders
    are absolute, because a worker works in another folder; one whose name has a colon cannot be handed on.
    """
    folders = [os.path.abspath(folder) for folder in sys.path if _can_be_handed_on(folder)]
    own = next((at for at, folder in enumerate(folders) if folder in _OWN), len(folders))
    before, behind = folders[:own], [folder for folder in folders[own:] if folder not in _OWN]
    asked = [
        os.path.abspath(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder
    ]
    before += [folder for folder in asked if folder not in folders]
    return {"PYTHONPATH": os.pathsep.join(before), LATER_IMPORTS: os.pathsep.join(behind)}


_OWN = frozenset(os.path.abspath(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib"))


def _can_be_handed_on(folder: object) -> bool:
    return isinstance(folder, str) and os.pathsep not in folder and os.path.exists(folder or os.curdir)
