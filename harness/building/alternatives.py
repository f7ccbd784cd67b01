"""Which variants can do what one of them refused."""

from harness import plugins
from harness.problem.case import Case


def alternatives(case: Case) -> list[str]:
    """Return the other variants that say they support a case's problem on its target.

    Plugins are asked in this process; one that cannot be loaded, or fails when asked, is left out.
    """
    return [name for name in plugins.suggested("variant") if name != case.variant and _supports(name, case)]


def _supports(name: str, case: Case) -> bool:
    try:
        return plugins.variant(name).supports(case.problem, case.target) is None
    except Exception:  # a plugin's own code
        return False
