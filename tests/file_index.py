"""The index of files in docs/architecture.md: what each says first of itself.

python tests/file_index.py writes it anew.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
HEADING = "## Every file in one line\n"
SOURCES = (".py", ".c")


def summary(file: Path) -> str:
    """Return the first paragraph of a file's docstring or leading comment, on one line."""
    text = file.read_text()
    if file.suffix == ".c":
        comment = re.match(r"/\*(.*?)(?:\n \*\s*\n|\*/)", text, re.DOTALL)
        said = "" if comment is None else re.sub(r"\n \*", " ", comment[1])
    else:
        said = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0]
    words = " ".join(said.split())
    if not words:
        raise ValueError(f"{file} does not say what it is")
    return words


def index() -> str:
    """Return the lists of all files of the package, one for each folder."""
    files = sorted(file for file in (ROOT / "harness").rglob("*") if file.suffix in SOURCES)
    lists = []
    for folder in dict.fromkeys(file.parent for file in files):
        rows = [f"- `{file.name}`: {summary(file)}" for file in files if file.parent == folder]
        lists.append("\n".join([f"**`{folder.relative_to(ROOT)}/`**", "", *rows]))
    return "\n\n".join(lists) + "\n"


def documented() -> str:
    """Return the index as the page has it."""
    return PAGE.read_text().partition(HEADING)[2].partition("\n\n")[2]


def main() -> None:
    before = PAGE.read_text().partition(HEADING)[0]
    introduction = "What each file says first of itself; `python tests/file_index.py` writes this list."
    PAGE.write_text(f"{before}{HEADING}\n{introduction}\n\n{index()}")


if __name__ == "__main__":
    main()
