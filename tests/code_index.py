"""The lists in docs/architecture.md that are written from the code: numbers that decide, and files.

python tests/code_index.py writes them anew.
"""

import ast
import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
HEADING = "## Every number that decides something\n"
FILES_HEADING = "## Every file in one line\n"
SOURCES = (".py", ".c")
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def package_files() -> list[Path]:
    return sorted(file for file in (ROOT / "harness").rglob("*") if file.suffix in SOURCES)


def first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def summary(file: Path) -> str:
    """Return the first paragraph of a file's docstring or leading comment, on one line."""
    text = file.read_text()
    if file.suffix == ".c":
        comment = re.match(r"/\*(.*?)(?:\n \*\s*\n|\*/)", text, re.DOTALL)
        said = "" if comment is None else re.sub(r"\n \*", " ", comment[1])
    else:
        said = ast.get_docstring(ast.parse(text)) or ""
    words = first_paragraph(said)
    if not words:
        raise ValueError(f"{file} does not say what it is")
    return words


def public_names(file: Path) -> list[str]:
    """Return the functions and classes of a Python file that others may use, in their order."""
    if file.suffix != ".py":
        return []
    defined = [node for node in ast.parse(file.read_text()).body if isinstance(node, DEFINITIONS)]
    return [node.name for node in defined if not node.name.startswith("_")]


def row(file: Path) -> str:
    names = ", ".join(f"`{name}`" for name in public_names(file))
    return f"- `{file.name}`: {summary(file)}" + (f" Has {names}." if names else "")


def file_lists() -> str:
    """Return the lists of all files of the package, one for each folder."""
    files = package_files()
    lists = []
    for folder in dict.fromkeys(file.parent for file in files):
        rows = [row(file) for file in files if file.parent == folder]
        lists.append("\n".join([f"**`{folder.relative_to(ROOT)}/`**", "", *rows]))
    return "\n\n".join(lists) + "\n"


def is_number(value: ast.expr) -> bool:
    """Whether an expression is a number, or computed from numbers alone."""
    if isinstance(value, ast.Constant):
        return type(value.value) in (int, float)
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    return isinstance(value, ast.BinOp) and is_number(value.left) and is_number(value.right)


def numbers_of(file: Path) -> list[tuple[str, str, str]]:
    """Return name, value and meaning of the constants of a file that are numbers and say what they are."""
    found = []
    statements = ast.parse(file.read_text()).body
    for assignment, meaning in pairwise(statements):
        match assignment, meaning:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value),
                ast.Expr(value=ast.Constant(value=str(said))),
            ) if is_number(value):
                found.append((name, ast.unparse(value), first_paragraph(said)))
    return found


def number_table() -> str:
    """Return the table of the package's documented numbers."""
    rows = ["| number | value | what it is | in |", "|---|---|---|---|"]
    for file in package_files():
        if file.suffix == ".py":
            where = file.relative_to(ROOT)
            rows += [f"| `{name}` | {value} | {said} | `{where}` |" for name, value, said in numbers_of(file)]
    return "\n".join(rows) + "\n"


def index() -> str:
    """Return both lists with their headings, as the page ends with them."""
    return (
        f"{HEADING}\nLimits, thresholds and tuned numbers with what each says of itself; "
        f"`python tests/code_index.py` writes this\ntable and the list below.\n\n{number_table()}\n"
        f"{FILES_HEADING}\nWhat each file says first of itself, and its functions and classes for others.\n\n"
        f"{file_lists()}"
    )


def documented() -> str:
    """Return the lists as the page has them."""
    _, heading, rest = PAGE.read_text().partition(HEADING)
    return heading + rest


def main() -> None:
    before = PAGE.read_text().partition(HEADING)[0].partition(FILES_HEADING)[0]
    PAGE.write_text(before + index())


if __name__ == "__main__":
    main()
