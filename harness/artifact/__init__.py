"""What a build leaves behind, and the cache that keeps it.

What plugins derive from can be imported from here.
"""

from harness.artifact.artifact import Artifact, StaticMetrics
from harness.artifact.bound_call import BoundCall, Executable, Sample

__all__ = ["Artifact", "BoundCall", "Executable", "Sample", "StaticMetrics"]
