"""Repositories that tests make."""

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """Run git in a folder as somebody whom no configuration knows; return what it prints."""
    identity = ["user.name=someone", "user.email=someone@example.org", "commit.gpgsign=false"]
    settings = [word for setting in identity for word in ("-c", setting)]
    done = subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout
