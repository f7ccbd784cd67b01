"""Every path that a page names exists, so that a reader finds each place in one step."""

import re
import tomllib
from pathlib import Path

import pytest

from harness.problem.distributions import DISTRIBUTIONS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LAYOUTS = ROOT / "harness" / "codegen" / "layouts"
LOOKED_UP_FROM = (ROOT, ROOT / "harness", ROOT / "docs", LAYOUTS, LAYOUTS / "distribution")
"""docs/layouts.md shortens the paths of its two folders."""

EXAMPLES = {"attention_einsum.py", "attention_peeled.py", "einsum.toml", "decode.toml", "decode_gpu.toml"}
"""Files that docs/plugins.md and docs/walkthrough.md have their readers write."""

WRITTEN_BY_RUNS = {"report/", "results/decode", "results/gallery", "results/revisions/", "summary.md"}


def prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


def named_paths(page: Path) -> list[str]:
    """Return what stands in backticks and is a path, or the bare name of a source file."""
    quoted = re.findall(r"`([^`\s]+)`", prose(page))
    pattern = re.compile(r"\.?[\w\-]+(/[\w.\-]+)*/?(?<=/)|[\w\-]+(/[\w.\-]+)+|[\w\-]+\.(py|toml|md|c|h)")
    return [name for name in quoted if pattern.fullmatch(name)]


def is_there(name: str) -> bool:
    if any((folder / name).exists() for folder in LOOKED_UP_FROM):
        return True
    rooms = (ROOT / "harness", ROOT / "experiments")
    return "/" not in name and any(next(room.rglob(name), None) for room in rooms)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_paths_that_a_page_names_exist(page: Path) -> None:
    missing = {name for name in named_paths(page) if not is_there(name)}
    assert missing <= EXAMPLES | WRITTEN_BY_RUNS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", prose(page))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_every_room_is_in_the_table_of_rooms() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text().split("## The rooms")[1].split("\n## ")[0]
    rooms = {found.parent.name for found in (ROOT / "harness").glob("*/__init__.py")}
    assert rooms == set(re.findall(r"^\| `harness/(\w+)/` \|", table, re.MULTILINE))


def test_a_missing_path_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "See `harness/nowhere.py`, `nowhere.toml`, `harness/cli/` and `harness/system/errors.py`."
    )
    assert [name for name in named_paths(page) if not is_there(name)] == [
        "harness/nowhere.py",
        "nowhere.toml",
    ]


def test_plugin_page_checks_with_all_distributions() -> None:
    (block,) = re.findall(r"```toml\n(name = .*?)```", (ROOT / "docs/plugins.md").read_text(), re.DOTALL)
    assert tomllib.loads(block)["check"]["distributions"] == list(DISTRIBUTIONS)
