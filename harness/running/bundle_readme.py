"""The `README.md` of a bundle: what it holds, and the commands for who receives it.

It is text for people.  Nothing here reads it, so it is no part of a bundle's digest, and does not hold it: a
digest that comes with a bundle tells nothing of it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.errors import InputError
from harness.printable import markdown_code, markdown_text, shell_line
from harness.results.manifest import Manifest
from harness.running.bundle import REQUIREMENTS_FILE, RUN_SCRIPT, Bundle, BundledCase
from harness.status import Status

README_FILE = "README.md"
UNKNOWN_DIGEST = "DIGEST"
"""Stands in the commands for the digest, which has to come another way than the bundle."""


def write_readme(bundle: Bundle) -> None:
    """Write a bundle's `README.md`; raises `InputError` where it cannot be written."""
    try:
        (bundle.folder / README_FILE).write_text(readme(bundle), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--bundle: {bundle.folder}: cannot write: {error.strerror or error}") from error


def run_line(bundle: Bundle, digest: str, command: str = "run") -> str:
    """Return the command that runs a bundle of that digest, where the bundle lies in the working folder."""
    return shell_line(["harness", command, "--bundle", _here(bundle), "--expect", digest])


def offline_line(bundle: Bundle, digest: str) -> str:
    """Return the command that runs a bundle of that digest on a machine without a network."""
    return f"EXPECT={digest} {shell_line(['sh', f'{_here(bundle)}/{RUN_SCRIPT}'])}"


def readme(bundle: Bundle) -> str:
    """Return the text in Markdown."""
    manifest = bundle.index.manifest
    parts = [
        f"# {markdown_text(manifest.experiment)}: a bundle",
        markdown_text(manifest.question),
        "\n".join(f"- {line}" for line in _contents(bundle)),
        "## To run it",
        "**A bundle is a program: run only what you trust.** Whoever built it was shown its digest. Get that "
        f"by another way than this folder, and put it in the place of {UNKNOWN_DIGEST}: nothing of another "
        "bundle is run then. This file is no part of the digest: anybody may have changed it on its way.",
        *(_offline_steps(bundle) if bundle.is_offline else _steps(bundle)),
        "`docs/devices.md` of the harness tells more of bundles.",
    ]
    return "\n\n".join(parts) + "\n"


def _steps(bundle: Bundle) -> Iterator[str]:
    """Yield how it is run where packages can be installed."""
    yield (
        "The machine needs the device's driver and Python, but no compiler. In a checkout of the harness, "
        "with this folder in it:"
    )
    yield _commands([*_checkout(bundle.index.manifest), *_installation(bundle)])
    yield "To verify the bundle and check every case's output, without timing:"
    yield _commands([run_line(bundle, UNKNOWN_DIGEST, "check")])
    yield "To verify, check, time and report:"
    yield _commands([run_line(bundle, UNKNOWN_DIGEST)])


def _offline_steps(bundle: Bundle) -> Iterator[str]:
    """Yield how it is run where nothing can be installed."""
    yield (
        "The machine needs the device's driver and Python, no network and no compiler. This unpacks the "
        "wheels beside this folder and installs nothing. It verifies, checks, times, reports, and packs the "
        "results into one file:"
    )
    yield _commands([offline_line(bundle, UNKNOWN_DIGEST)])
    yield (
        "Called again, it goes on. Options of `harness run` may follow, such as `--only variant=flash`. The "
        "script's first lines tell of variables: `PYTHON` is another Python than `python3`, and "
        "`LIMIT_S=300` ends the run after that many seconds."
    )
    yield (
        "The code that verifies the digest came in this folder: it shows that all has arrived. To run only "
        "what you trust, compare the packed file's SHA-256, which its builder was shown, too."
    )


def _contents(bundle: Bundle) -> Iterator[str]:
    """Yield what the bundle holds, and where it is from, a line each."""
    manifest, entries = bundle.index.manifest, bundle.index.cases
    file = markdown_code(manifest.source_name) if manifest.source_name else "given in Python"
    profile = f", profile {markdown_code(manifest.profile)}" if manifest.profile is not None else ""
    yield f"Experiment: {markdown_text(manifest.experiment)} ({file}{profile})"
    counts = Counter(entry.status.value for entry in entries)
    yield f"Cases: {len(entries)} ({', '.join(f'{count} {status}' for status, count in counts.items())})"
    yield from _not_built(entries)
    targets = dict.fromkeys(entry.case.target for entry in entries)
    yield f"Targets: {', '.join(map(markdown_code, targets))}"
    yield f"Built: {markdown_text(manifest.started)}, with {markdown_text(manifest.python)}"
    yield f"Harness: version {markdown_text(manifest.harness_version)}, {_commit(manifest)}"


def _not_built(entries: Sequence[BundledCase]) -> Iterator[str]:
    """Yield why cases have no artifact, a line for each reason."""
    missing = Counter(
        (entry.status, entry.case.variant, entry.reason) for entry in entries if entry.status != Status.BUILT
    )
    for (status, variant, reason), count in missing.items():
        why = f": {markdown_text(reason)}" if reason else ""
        yield f"Not in it: {count} of {markdown_code(variant)}, {status}{why}"


def _commit(manifest: Manifest) -> str:
    if manifest.git_commit is None:
        return "of no known commit: ask who built it for the code"
    changed = "; files differed from it: ask who built it for the changes" if manifest.git_dirty else ""
    return f"commit {markdown_code(manifest.git_commit)}{changed}"


def _checkout(manifest: Manifest) -> list[str]:
    commit = manifest.git_commit
    return [] if commit is None else [shell_line(["git", "checkout", commit])]


def _installation(bundle: Bundle) -> list[str]:
    requirements = f"{_here(bundle)}/{REQUIREMENTS_FILE}"
    return [
        shell_line(["pip", "install", "--no-deps", "."]),
        shell_line(["pip", "install", "-r", requirements]),
    ]


def _here(bundle: Bundle) -> str:
    """Return the path of the bundle from the folder that it lies in."""
    return f"./{Path(bundle.folder).resolve().name}"


def _commands(lines: Sequence[str]) -> str:
    return "\n".join(["```sh", *lines, "```"])
