"""The commands and the Python of documentation that shows IR print what stands there."""

import contextlib
import importlib
import io
import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from caches import empty_cache

from harness import api
from harness.__main__ import main
from harness.codegen.costs.costs import total
from harness.codegen.costs.counter import count
from harness.codegen.dialect.context import mlir_context
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.variants.generated import GeneratedVariant

DOCS = Path(__file__).parents[1] / "docs"
CUT = "…"
OUTPUT = ("mlir", "diff", "asm")
"""Languages of blocks that show what the command above them prints."""


pytestmark = pytest.mark.usefixtures("built_here")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Excerpt:
    """What a page shows of the output of a command or of Python."""

    where: Block
    source: str
    shown: str
    is_python: bool = False


def blocks(page: str) -> list[Block]:
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(page, text.count("\n", 0, m.start()) + 1, m[1], m[2]) for m in found]


def excerpts(page: str) -> Iterator[Excerpt]:
    """Yield what is to be compared; a block without anything that prints it is a mistake of the page."""
    source, is_python = None, False
    for block in blocks(page):
        if block.language == "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                source, _, shown = part.partition("\n")
                is_python = False
                yield Excerpt(block, source, shown)
        elif block.language == "python":
            source, is_python = block.text, True
            yield Excerpt(block, source, "", is_python)
        elif block.language in OUTPUT or (block.language == "text" and is_python):
            assert source is not None, f"{block}: no command above it"
            assert is_python == (block.language == "text"), f"{block}: what is above it does not print this"
            yield Excerpt(block, source, block.text, is_python)


@cache
def printed(command: str) -> str:
    """Return what a command prints, errors included."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        program, *arguments = shlex.split(command)
        assert program == "harness"
        main(arguments)
    return out.getvalue()


@cache
def executed(source: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(source, {})
    return out.getvalue()


def missing(shown: str, output: str) -> str | None:
    """Return the first line shown at which the output differs, None if it does not.

    A line `…` stands for lines left out, as do beginning and end; `…` in a line for text left out.  Lines
    next to each other must be so in the output.  Indentation does not count.
    """
    lines = [line.strip() for line in output.splitlines()]
    start = 0
    for run in re.split(rf"^\s*{CUT}$", shown, flags=re.MULTILINE):
        wanted = run.strip().splitlines()
        if not wanted:
            continue
        patterns = [pattern_of(line) for line in wanted]
        matched = [how_many_match(patterns, lines[place:]) for place in range(start, len(lines))]
        most = max(matched, default=0)
        if most < len(wanted):
            return wanted[most]
        start += matched.index(most) + most
    return None


def pattern_of(line: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, line.strip().split(CUT))))


def how_many_match(patterns: list[re.Pattern[str]], lines: list[str]) -> int:
    """Return how many of the patterns the first lines match, one each, up to the first that is not."""
    pairs = zip(patterns, lines, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0].fullmatch(pair[1]), pairs))


@pytest.fixture(scope="module", autouse=True)
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An artifact cache of our own; each problem is built once, whatever stage is looked at."""
    known: dict[str, api.BuiltArtifact] = {}
    build = api.build

    def build_once(*arguments: object, **options: object) -> api.BuiltArtifact:
        key = repr((arguments, options))
        if key not in known:
            known[key] = build(*arguments, **options)  # type: ignore[arg-type]
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_CACHE_DIR", str(empty_cache(tmp_path_factory.mktemp("cache"))))
        patch.setattr(api, "build", build_once)
        yield


PAGES = ["architecture.md", "cpu.md", "emulator.md", "layouts.md", "tile-and-fuse.md", "xegpu.md"]


@pytest.mark.parametrize("excerpt", [e for page in PAGES for e in excerpts(page)], ids=lambda e: str(e.where))
def test_the_output_is_what_the_page_shows(excerpt: Excerpt) -> None:
    output = executed(excerpt.source) if excerpt.is_python else printed(excerpt.source)
    line = missing(excerpt.shown, output)
    assert line is None, f"{excerpt.where}: {line!r} is not in the output of\n{excerpt.source}"


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        ("one\n  two …", None),
        ("…\ntwo …\n…\nfour", None),
        ("… parts\nthree", None),
        ("one\nthree", "three"),
        ("four\n…\none", "one"),
        ("two", "two"),
        ("four\nfive", "five"),
    ],
)
def test_what_is_left_out_must_be_marked(shown: str, line: str | None) -> None:
    assert missing(shown, "one\ntwo with parts\nthree\nfour") == line


def test_the_variant_of_the_plugin_page_generates_kernels() -> None:
    """80 keys in tiles of 32: the rest of 16 follows after the loop, and nothing is computed twice."""
    (block,) = (block for block in blocks("plugins.md") if "(GeneratedVariant)" in block.text)
    names: dict[str, type[GeneratedVariant]] = {}
    exec(block.text, names)
    variant = names["Peeled"]()
    problem = AttentionProblem(heads=2, seq_q=64, seq_kv=80, head_dim=8)
    case = Case(problem=problem, variant="peeled", target="cpu", params={"tile_q": 16, "tile_kv": 32})
    with mlir_context():
        module = variant.kernels(case)
        assert "attn." not in str(module)
        assert total(count(module)).matmul == problem.flops()


def test_plugin_page_variant_computes_attention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = (block for block in blocks("plugins.md") if "class Einsum(Variant)" in block.text)
    (tmp_path / "attention_einsum.py").write_text(block.text)
    monkeypatch.syspath_prepend(str(tmp_path))
    variant = importlib.import_module("attention_einsum").Einsum()
    problem = AttentionProblem(heads=2, seq_q=77, head_dim=8)
    assert variant.supports(problem, "cpu") is None
    folder = tmp_path / "artifact"
    folder.mkdir()
    case = Case(problem=problem, variant="einsum", target="cpu", params={"block": 32})
    artifact = variant.build(case, "key", folder)
    inputs = make_inputs(problem, seed=1)
    call = artifact.load(folder).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, problem).check(call.output()).ok
