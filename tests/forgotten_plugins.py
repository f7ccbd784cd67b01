"""Plugins that are looked up anew, for tests that change which there are."""

import importlib

from harness import plugins


def forget_plugins() -> None:
    """Let plugins be looked up anew."""
    plugins._declarations.cache_clear()
    plugins._registered.cache_clear()
    plugins.load.cache_clear()
    importlib.invalidate_caches()
