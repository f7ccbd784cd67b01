"""`harness ir` from its options to what it prints, with real builds."""

import pytest
from caches import empty_cache
from command_lines import error_line

from harness.__main__ import main

SIZES = ("--set", "tile_q=16", "--set", "tile_kv=16")
SMALL = ("--target", "cpu:avx2", "--seq", "32", "--head-dim", "8", *SIZES)
FLASH = ["ir", "flash", *SMALL]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_CACHE_DIR", str(empty_cache(tmp_path_factory.mktemp("cache"))))
        yield


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def cells(text: str, first: str) -> list[str]:
    """Return the cells of the table row with this text in its first or second column."""
    rows = [
        [cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if "│" in line
    ]
    return next(row for row in rows if first in row[:2])


class TestStages:
    def test_all_of_them_in_a_table(self, capsys):
        text = output(capsys, *FLASH)
        title = text.splitlines()[0]
        assert title.startswith("flash · cpu:avx2 · b1 h2 s32 d8 f32 full · ")
        assert "tile_kv=16 tile_q=16" in title
        number, name, milliseconds, lines, frequent, changed = cells(text, "vectorized")
        assert int(number) > 1
        assert name == "vectorized"
        assert float(milliseconds) > 0
        assert int(lines) > 20
        assert "vector.transfer_read" in frequent
        assert changed[0] in "+-"
        assert cells(text, "llvm-ir")[-1] == "another language"
        assert cells(text, "1")[-1] == "–"

    def test_one_of_them_as_plain_text_for_a_pipe(self, capsys):
        from mlir import ir

        from harness.codegen.dialect.context import mlir_context

        text = output(capsys, *FLASH, "--stage", "threaded")
        assert "\x1b" not in text
        with mlir_context():
            assert ir.Module.parse(text).operation.verify()

    def test_the_difference_to_the_one_before(self, capsys):
        lines = output(capsys, *FLASH, "--stage", "bufferized", "--diff").splitlines()
        assert lines[0].startswith("# operations: ")
        assert "+" in lines[0]
        assert "memref.subview" in lines[0]
        assert lines[1:3] == ["--- guarded", "+++ bufferized"]
        assert any(line.startswith("+  func.func @attention(%arg0: memref<") for line in lines)


class TestCounts:
    def test_of_one_stage(self, capsys):
        text = output(capsys, *FLASH, "--stage", "tiled", "--counts")
        assert cells(text, "scf.for") == ["scf.for", "1"]
        assert cells(text, "tiled")[1] == f"{2 * 32 * 32 * 2 * 16:,}"
        assert cells(text, "value") == ["argument", "value", f"{2 * 2 * 32 * 8 * 4:,}", "0"]
        assert cells(text, "output") == ["argument", "output", "0", f"{2 * 32 * 8 * 4:,}"]

    def test_of_all_stages(self, capsys):
        text = output(capsys, *FLASH, "--counts")
        matmul = f"{2 * 32 * 32 * 2 * 16:,}"
        for stage in ("tiled", "lanes", "vectorized", "bufferized", "threaded"):
            row = next(line for line in text.splitlines() if line.startswith(f"│ {stage} "))
            assert row.split("│")[2].strip() == matmul
        assert "llvm is not countable: llvm.func: the llvm dialect has jumps instead of loops" in text
        assert "object is not countable: only MLIR is counted" in text


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["flsh"], "unknown variant or schedule 'flsh' (did you mean flash?); variants: flash, "),
            (["flash", "--target", "abacus"], "--target: unknown target 'abacus'; expected one of cpu"),
            (["flash", "--heads", "0"], "--heads: Input should be greater than 0, found 0"),
            (["flash", "--window", "3"], '--window: found "3", expected 2 integers or none, such as 128,0'),
            (["flash", "--kv-lengths", "a,b"], '--kv-lengths: found "a,b", expected integers'),
            (["flash", "--seq", "-3", "--seq-q", "4"], "--seq: found -3, expected a positive integer"),
            (
                ["varlen", "--seq", "3", "--cu-seqlens-q", "0,3", "--cu-seqlens-kv", "0,3"],
                "--seq: --cu-seqlens-q and --cu-seqlens-kv already say",
            ),
            (["flash", "--set", "tile_q=16", "--set", "tile_q=32"], "--set tile_q=32: tile_q is set twice"),
            (["flash", "--set", "tile_q"], "--set tile_q: expected KEY=VALUE"),
            (
                ["flash", "--set", "tile=4"],
                "--set tile=4: unknown key (did you mean tile_q?); allowed: tile_q, ",
            ),
            (
                ["flash", *SMALL, "--stage", "tild"],
                "--stage: found 'tild' (did you mean tiled?), expected one of ",
            ),
            (["flash", *SMALL, "--diff"], "--diff: expected --stage with one of "),
            (
                ["flash", *SMALL, "--stage", "object", "--diff"],
                "--diff: 'object' is binary: show it without --diff; expected one of ",
            ),
            (
                ["flash", *SMALL, "--stage", "assembly", "--diff"],
                "--diff: 'assembly' is in another language than 'llvm-ir' before: show it without --diff; ",
            ),
        ],
    )
    def test_is_one_line(self, capsys, arguments, expected):
        assert error_line(capsys, "ir", *arguments).startswith(expected)


class TestProblemOptions:
    def problem_of(self, monkeypatch: pytest.MonkeyPatch, *options: str):
        built = []

        def note(problem, **others):
            from harness.system.errors import InputError

            built.append((problem, others))
            raise InputError("enough")

        monkeypatch.setattr("harness.api.build", note)
        assert main(["ir", "flash", *options]) == 2
        return built[0]

    def test_a_length_of_its_own_wins_over_seq(self, monkeypatch):
        problem, _ = self.problem_of(monkeypatch, "--seq", "64", "--seq-kv", "96")
        assert (problem.seq_q, problem.seq_kv) == (64, 96)

    def test_settings_go_to_the_variant_or_to_the_target(self, monkeypatch):
        _, others = self.problem_of(monkeypatch, "--set", "tile_q=16", "--set", "threads=2")
        assert (others["variant"], others["target"]) == ("flash", "cpu")
        assert (others["params"], others["threads"]) == ({"tile_q": 16}, 2)


class TestNamedSchedules:
    def test_one_stage_and_sizes(self, capsys):
        text = output(capsys, "ir", "matmul", "--stage", "tiled")
        assert [text.count(name) for name in ("scf.for ", "linalg.matmul")] == [3, 1]
        assert "tensor<2x6x8x4xf32>" in output(
            capsys, "ir", "flash-kv-outer", "--stage", "payload", "--set", "batch=2", "--set", "heads=6"
        )

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            (["--causal"], "--causal"),
            (["--target", "nonsense", "--heads", "4", "--set", "heads=4"], "--target, --heads"),
        ],
    )
    def test_options_of_the_problem_are_refused(self, capsys, options, named):
        assert error_line(capsys, "ir", "flash-kv-outer", *options) == (
            f"{named}: a schedule takes only --set SIZE=NUMBER; "
            "sizes of flash-kv-outer: batch, heads, seq_q, seq_kv, head_dim, tile_batch, tile_q, tile_kv"
        )

    def test_a_bad_size_is_one_line(self, capsys):
        assert "expected SIZE=NUMBER" in error_line(capsys, "ir", "matmul", "--set", "rows=-1")
        assert "unknown schedule 'flsh'" in error_line(capsys, "ir", "schedule:flsh")
        assert "unknown size 'width'" in error_line(capsys, "ir", "matmul", "--set", "width=4")


def test_every_field_of_a_problem_is_an_option_with_its_description(capsys):
    from harness.problem.fields import problem_fields

    text = " ".join(output(capsys, "ir", "--help").split())
    for name, field in problem_fields().items():
        assert f"--{name.replace('_', '-')} " in text
        assert field.description.split()[0] in text


class TestTime:
    def test_each_part_has_cycles_and_stamps_are_said_to_disturb(self, capsys):
        text = output(capsys, *FLASH, "--time")
        assert "Stamps disturb" in text
        rows = {line[:22].strip(): line[22:].split() for line in text.splitlines() if line.startswith("  ")}
        times, cycles, ideal, of_ideal, share = rows["scores, QKᵀ"]
        assert (times, share[-1], of_ideal[-1]) == ("8", "%", "%")
        assert float(cycles) > 0
        assert float(ideal) > 0

    def test_what_has_no_stamps_says_so(self, capsys):
        small = ["ir", "flash", "--target", "cuda:sm_80", "--dtype", "f16", "--seq", "64", "--head-dim", "64"]
        assert error_line(capsys, *small, "--time") == (
            "--time: no stamps in kernels for cuda; expected the target cpu"
        )

    def test_it_goes_with_no_other_view(self, capsys):
        assert error_line(capsys, *FLASH, "--time", "--counts").startswith("--time: expected without")
