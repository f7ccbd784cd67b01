"""The environment of git commands that are about a folder, wherever this process was started."""

import os

OF_A_REPOSITORY = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
"""What `git rev-parse --local-env-vars` lists: hooks of git have some, and they outweigh the folder.

But for what holds the user's own configuration, such as `safe.directory`, without which git may refuse."""


def outside_of_repositories() -> dict[str, str]:
    """Return this process's environment without what names a repository, its index or its files."""
    return {name: value for name, value in os.environ.items() if name not in OF_A_REPOSITORY}
