"""The environment of git commands that are about a folder, wherever this process was started."""

import os

OF_THE_USER = ("GIT_CONFIG", "GIT_SSH", "GIT_EXEC_PATH", "GIT_TERMINAL_PROMPT")
"""How variables begin that say nothing of a repository, such as `safe.directory` in a configuration."""


def outside_of_repositories() -> dict[str, str]:
    """Return this process's environment without what names a repository, its index or its files.

    Hooks of git have such variables, and they outweigh the folder.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(OF_THE_USER)
    }
