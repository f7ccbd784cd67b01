"""The code of a case's plugins, in files and in this process: what one builds the other does not run."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from harness import plugins
from harness.code_packages import code_packages
from harness.digest import OWN_PACKAGE, source_stamps
from harness.errors import HarnessError, InputError
from harness.experiment.case_settings import complete_case
from harness.imported_code import require_as_imported
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue

Sources = tuple[tuple[str, int, int], ...]
"""Name, time and size of each source file of plugins."""


def packages_of(variant: str, target: str) -> set[str]:
    """Return the packages that the code of a variant and a target lies in, besides the harness."""
    packages = code_packages(plugins.variant(variant)) | code_packages(plugins.target(target))
    return packages - {OWN_PACKAGE}


def packages_of_cases(cases: Iterable[Case]) -> set[str]:
    """Return the packages that the code of the plugins of cases lies in; of a faulty one its rows tell."""
    packages: set[str] = set()
    for variant, target in sorted({(case.variant, case.target) for case in cases}):
        with suppress(HarnessError):
            packages |= packages_of(variant, target)
    return packages


def python_sources(packages: Iterable[str]) -> Sources:
    """Return the Python files of packages as they are now."""
    return tuple(stamp for stamp in source_stamps(packages) if stamp[0].endswith(".py"))


def require_sources(packages: set[str], sources: Sources) -> None:
    """Raise an error unless packages are in files, and in this process, what they were for a build.

    `PluginError` where this process has imported other code, else `InputError`.
    """
    require_as_imported(packages)
    if python_sources(packages) != sources:
        names = ", ".join(sorted(packages))
        raise InputError(f"executable: the code of {names} was edited since this was built: build it again")


def case_as_imported(
    problem: AttentionProblem,
    variant: str,
    target: str,
    params: Mapping[str, ParameterValue],
    options: Mapping[str, ParameterValue],
) -> Case:
    """Return the case of these settings, with the defaults of the code that a worker builds with.

    Raises `PluginError` where code of its plugins was edited since this process imported it, also where that
    has led to another error, such as a parameter that only the edited code has.
    """
    try:
        case = complete_case(problem, variant, target, params, options)
    except HarnessError:
        packages: set[str] = set()
        with suppress(HarnessError):
            plugins.check_name("variant", variant)
            plugins.check_target(target)
            packages = packages_of(variant, target)
        require_as_imported(packages)
        raise
    require_as_imported(packages_of(variant, target))
    return case


@contextmanager
def read_as_imported() -> Iterator[None]:
    """Raise `PluginError` for an error in here where code of any plugin was edited since it was imported.

    A parameter that only the edited code has is no mistake of whoever writes it.
    """
    try:
        yield
    except HarnessError:
        require_as_imported(plugins.packages() - {OWN_PACKAGE})
        raise
