"""The `README.md` of a bundle: what it holds, and the commands for who receives it."""

from collections import Counter
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from harness.bench.running.bundle import RUN_SCRIPT, Bundle
from harness.system.printable import markdown_code, markdown_text, shell_line
from harness.system.status import Status
from harness.system.storage.reading import refusals_told

README_FILE = "README.md"
TEMPLATE = "bundle_readme.md.jinja"


def write_readme(bundle: Bundle) -> None:
    """Write a bundle's `README.md`; raises `InputError` where it cannot be written."""
    with refusals_told(f"--bundle: {bundle.folder}: cannot write"):
        (bundle.folder / README_FILE).write_text(readme(bundle), encoding="utf-8")


def run_line(bundle: Bundle, command: str = "run") -> str:
    """Return the command that runs a bundle, where the bundle lies in the working folder."""
    here = _here(bundle)
    if bundle.is_offline:
        return shell_line(["sh", f"{here}/{RUN_SCRIPT}"])
    return shell_line(["harness", command, "--bundle", here])


def readme(bundle: Bundle) -> str:
    """Return the text in Markdown."""
    cases = bundle.index.cases
    counts = Counter(entry.status.value for entry in cases)
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # it is Markdown, and all names go through `markdown_text` and `markdown_code`
    )
    templates.filters.update(text=markdown_text, code=markdown_code, shell=shell_line)
    return templates.get_template(TEMPLATE).render(
        manifest=bundle.index.manifest,
        cases=cases,
        counts=", ".join(f"{count} {status}" for status, count in counts.items()),
        missing=Counter(
            (entry.status.value, entry.case.variant, entry.reason)
            for entry in cases
            if entry.status is not Status.BUILT
        ),
        targets=dict.fromkeys(entry.case.target for entry in cases),
        here=_here(bundle),
        check=run_line(bundle, "check"),
        run=run_line(bundle),
        is_offline=bundle.is_offline,
    )


def _here(bundle: Bundle) -> str:
    return f"./{Path(bundle.folder).resolve().name}"
