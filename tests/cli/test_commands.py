"""The command line: what the commands ask of the other modules, exit statuses, and one line for bad input."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from example_plugins import use_example_plugins
from example_results import example_result, failed_result

from harness.__main__ import main
from harness.cli import doctor
from harness.errors import RunInterrupted
from harness.results.result import Result
from harness.status import Status

EXPERIMENT = """
name = "trial"
question = "Does it work?"
variants = ["unfused", "flash"]
[problem]
heads = 4
head_dim = 64
seq = [64, 128]
"""


class Calls:
    """What the commands asked of the runner and of reporting, and what the runner is to answer."""

    def __init__(self, folder: Path) -> None:
        self.results: list[Result] = [example_result()]
        self.folder = folder
        self.runs: list[dict[str, Any]] = []
        self.reports: list[tuple[Any, ...]] = []
        self.report_arguments: dict[str, Any] = {}
        self.redrawn: list[tuple[Any, ...]] = []
        self.notes: tuple[str, ...] = ()
        self.interruption: KeyboardInterrupt | None = None

    def run_experiment(self, experiment: Any, cases: list[Any], **arguments: Any) -> Any:
        self.runs.append({"experiment": experiment.name, "cases": cases, **arguments})
        if self.interruption is not None:
            raise self.interruption
        return SimpleNamespace(folder=self.folder, results=self.results)

    def make_report(
        self, folders: list[Path], out: Path | None, formats: tuple[str, ...], **arguments: Any
    ) -> Any:
        self.reports.append((folders, out, formats))
        self.report_arguments = arguments
        print(f"tables of {len(folders)}")
        return SimpleNamespace(folder=self.folder / "report", notes=self.notes)

    def redraw(
        self, folders: list[Path], figures: list[str], settings: list[str], *others: Any, **named: Any
    ) -> Any:
        self.redrawn.append((folders, figures, settings))
        return SimpleNamespace(files={"throughput": (Path("throughput.png"),)}, notes=self.notes)


@pytest.fixture(autouse=True)
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Work in an empty folder that holds `experiments/trial.toml`, with everything heavy replaced."""
    use_example_plugins(monkeypatch)
    calls = Calls(tmp_path / "results" / "trial" / "1")
    monkeypatch.setitem(
        sys.modules, "harness.running.runner", SimpleNamespace(run_experiment=calls.run_experiment)
    )
    reporting = SimpleNamespace(make_report=calls.make_report, redraw=calls.redraw)
    monkeypatch.setitem(sys.modules, "harness.reporting.report", reporting)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "trial.toml").write_text(EXPERIMENT)
    return calls


def error_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must end with exit status 2 and one line on standard error; return the line."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("harness: ")
    return captured.err.removeprefix("harness: ").strip()


class TestRun:
    def test_all_cases_are_run_and_reported(self, calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "experiments/trial.toml"]) == 0
        (call,) = calls.runs
        assert (call["experiment"], len(call["cases"])) == ("trial", 4)
        assert (call["out"], call["timed"], call["resume"]) == (Path("results"), True, False)
        assert calls.reports == [([calls.folder], None, ("png", "svg", "pdf"))]
        assert capsys.readouterr().out == f"tables of 1\nreport: {calls.folder}/report\n"

    def test_an_experiment_by_its_bare_name(self, calls: Calls) -> None:
        assert main(["run", "trial"]) == 0
        assert calls.runs[0]["experiment"] == "trial"

    def test_options(self, calls: Calls) -> None:
        options = [
            "--only",
            "variant=flash",
            "--only",
            "seq=64",
            "--resume",
            "--out",
            "elsewhere",
            "--jobs",
            "3",
        ]
        assert main(["run", "trial", *options]) == 0
        (call,) = calls.runs
        assert [(case.variant, case.problem.seq_q) for case in call["cases"]] == [("flash", 64)]
        assert (call["out"], call["resume"], call["jobs"]) == (Path("elsewhere"), True, 3)
        assert Path("elsewhere").is_dir()

    def test_an_experiment_without_timing_is_not_timed(self, calls: Calls) -> None:
        Path("untimed.toml").write_text(EXPERIMENT + "[timing]\nenabled = false")
        assert main(["run", "untimed.toml"]) == 0
        assert calls.runs[0]["timed"] is False

    def test_failures_do_not_change_the_exit_status(self, calls: Calls) -> None:
        calls.results = [failed_result()]
        assert main(["run", "trial"]) == 0

    def test_an_interruption_says_how_to_go_on(
        self, calls: Calls, capsys: pytest.CaptureFixture[str]
    ) -> None:
        calls.interruption = RunInterrupted(0, 28)
        assert main(["run", "trial", "--only", "seq=64"]) == 130
        assert capsys.readouterr().err == (
            "harness: interrupted, 0 of 28 cases finished; continue with: "
            "harness run trial --only seq=64 --resume\n"
        )

    def test_an_interruption_outside_of_a_run_says_no_more(
        self, calls: Calls, capsys: pytest.CaptureFixture[str]
    ) -> None:
        calls.interruption = KeyboardInterrupt()
        assert main(["run", "trial"]) == 130
        assert capsys.readouterr().err == "harness: interrupted\n"


class TestCheck:
    def test_wrong_outputs_can_be_dumped(self, calls: Calls) -> None:
        assert main(["check", "trial", "--dump", "arrays"]) == 0
        assert calls.runs[0]["dump"] == Path("arrays")
        assert Path("arrays").is_dir()

    def test_nothing_is_timed(self, calls: Calls) -> None:
        assert main(["check", "trial"]) == 0
        assert calls.runs[0]["timed"] is False

    @pytest.mark.parametrize("status", [status for status in Status if status is not Status.PASSED])
    def test_the_exit_status_tells_of_failures(self, calls: Calls, status: Status) -> None:
        calls.results = [example_result("a"), failed_result("b", status)]
        assert main(["check", "trial"]) == int(status.is_failure)

    @pytest.mark.parametrize("status", [Status.UNSUPPORTED, Status.BUILT])
    def test_strict_wants_every_case_checked(self, calls: Calls, status: Status) -> None:
        calls.results = [example_result("a"), failed_result("b", status)]
        assert main(["check", "trial", "--strict"]) == 1
        calls.results = [example_result("a")]
        assert main(["check", "trial", "--strict"]) == 0

    def test_the_last_line_says_how_many_were_checked(
        self, calls: Calls, capsys: pytest.CaptureFixture[str]
    ) -> None:
        statuses = (Status.UNSUPPORTED, Status.UNSUPPORTED, Status.WRONG)
        calls.results = [example_result("a"), *(failed_result(str(s), s) for s in statuses)]
        main(["check", "trial"])
        last = capsys.readouterr().out.splitlines()[-1]
        assert last == "2 of 4 cases checked, 1 passed, 1 wrong, 2 unsupported"

    @pytest.mark.parametrize(("supported", "status"), [("[]", 0), ('["unfused"]', 0), ('["flash"]', 1)])
    def test_a_variant_that_is_to_be_supported_is_missed(
        self, calls: Calls, capsys: pytest.CaptureFixture[str], supported: str, status: int
    ) -> None:
        Path("expecting.toml").write_text(EXPERIMENT + f"[check]\nsupported = {supported}\n")
        calls.results = [failed_result("b", Status.UNSUPPORTED, variant="flash", reason="no such width")]
        assert main(["check", "expecting.toml"]) == status
        line = "case b: unsupported, but check.supported lists flash: no such width"
        assert (line in capsys.readouterr().out) == bool(status)

    def test_junit_is_written_even_when_a_case_fails(self, calls: Calls) -> None:
        calls.results = [failed_result()]
        assert main(["check", "trial", "--junit", "out/junit.xml"]) == 1
        assert '<failure type="crashed"' in Path("out/junit.xml").read_text()


class TestReport:
    def test_several_folders_and_formats(self, calls: Calls) -> None:
        assert main(["report", "a", "b", "--out", "both", "--format", "png", "--format", "svg"]) == 0
        assert calls.reports == [([Path("a"), Path("b")], Path("both"), ("png", "svg"))]

    def test_figures_are_drawn_again_and_nothing_else(
        self, calls: Calls, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["report", "a", "--figure", "throughput", "--set", "style=bars"]) == 0
        assert calls.redrawn == [([Path("a")], ["throughput"], ["style=bars"])]
        assert calls.reports == []
        assert capsys.readouterr().out == "figure: throughput.png\n"

    def test_settings_without_their_figure_are_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        message = error_line(capsys, "report", "a", "--set", "style=bars")
        assert message == "--set: found no --figure, expected the figure that the settings are for"

    def test_an_edited_experiment_labels_and_rows(self, calls: Calls) -> None:
        options = ["--experiment", "trial", "--label", "before", "--label", "after", "--rows"]
        assert main(["report", "a", "b", "--out", "both", *options]) == 0
        assert calls.report_arguments["experiment"].name == "trial"
        assert calls.report_arguments["labels"] == ["before", "after"]
        assert calls.report_arguments["by_row"] is True

    def test_what_became_of_figures_is_told_on_standard_error(
        self, calls: Calls, capsys: pytest.CaptureFixture[str]
    ) -> None:
        calls.notes = ("figure throughput not drawn: 50 panels",)
        assert main(["report", "a"]) == 0
        assert capsys.readouterr().err == "harness: figure throughput not drawn: 50 panels\n"


class TestList:
    @pytest.mark.parametrize(
        ("what", "expected"),
        [
            ("variants", "flash    the example flash"),
            ("variants", "broken   variant 'broken' cannot be imported: No module named 'nothing'"),
            ("targets", "cpu       the example processor"),
            ("targets", "cpu:avx2  vectors of 256 bits"),
            ("experiments", "trial  Does it work?"),
            ("distributions", "normal                  standard normal: the usual benchmark input"),
        ],
    )
    def test_names_and_summaries(self, capsys: pytest.CaptureFixture[str], what: str, expected: str) -> None:
        assert main(["list", what]) == 0
        assert expected in capsys.readouterr().out.splitlines()

    def test_cases_with_their_ids(self, calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
        main(["run", "trial"])
        capsys.readouterr()
        assert main(["list", "cases", "trial"]) == 0
        cases = calls.runs[0]["cases"]
        assert capsys.readouterr().out.splitlines() == [f"{case.id}  {case.describe()}" for case in cases]

    def test_no_experiments_are_told_of(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert main(["list", "experiments"]) == 0
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err == "harness: there is no folder experiments/ with experiments here\n"
        assert error_line(capsys, "run", "smoke") == (
            "experiments/smoke.toml: no such file; there is no folder experiments/ with experiments here; "
            "expected the path of an experiment in TOML"
        )

    def test_a_file_beside_is_suggested_for_its_bare_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("tiles.toml").write_text(EXPERIMENT)
        assert error_line(capsys, "run", "tiles") == (
            "experiments/tiles.toml: no such file; did you mean the file tiles.toml?"
        )

    def test_cases_of_no_experiment(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert error_line(capsys, "list", "cases").startswith("list cases: expected an experiment")


class TestDoctor:
    def test_findings_are_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["doctor"]) == 0
        assert "cpu build" in capsys.readouterr().out

    def test_a_broken_installation_is_told_by_the_exit_status(self, monkeypatch: pytest.MonkeyPatch) -> None:
        finding = doctor.Finding(
            section="packages", name="numpy", state=doctor.State.BROKEN, detail="not installed"
        )
        monkeypatch.setattr(doctor, "diagnose", lambda: [finding])
        assert main(["doctor"]) == 1


class TestBadInput:
    """Exit status 2, one line, and nothing has run."""

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            (
                '"flash"',
                '"flsh"',
                "variants: unknown variant 'flsh' (did you mean flash?); expected one of flash, ",
            ),
            (
                "head_dim",
                "head_dmi",
                "problem.head_dmi: unknown key (did you mean head_dim?); allowed: dtype, ",
            ),
            ("64, 128", "64, -128", "problem.seq: found -128, expected a positive integer"),
            (
                "[problem]",
                '[check]\nsupported = ["naive"]\n[problem]',
                "check.supported: unknown variant 'naive'; expected one of unfused, flash",
            ),
            ("heads = 4", "heads = 4\nkv_heads = 3", "problem: heads 4 is not a multiple of kv_heads 3 (in "),
            (
                "heads = 4",
                'heads = 4\ndtype = "f8"',
                "problem.dtype: found \"f8\", expected 'f32', 'f16' or 'bf16'",
            ),
        ],
    )
    @pytest.mark.parametrize("command", ["run", "check"])
    def test_in_an_experiment(
        self,
        capsys: pytest.CaptureFixture[str],
        calls: Calls,
        command: str,
        old: str,
        new: str,
        expected: str,
    ) -> None:
        Path("wrong.toml").write_text(EXPERIMENT.replace(old, new, 1))
        assert error_line(capsys, command, "wrong.toml").startswith(f"wrong.toml: {expected}")
        assert calls.runs == []

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (["run", "missing.toml"], "missing.toml: no such file; expected an experiment in TOML"),
            (
                ["run", "missing"],
                "experiments/missing.toml: no such file; expected an experiment in TOML, one of trial",
            ),
            (["run", "experiments"], "experiments: is a folder; expected an experiment in TOML"),
            (
                ["run", "trial", "--only", "variant=torch"],
                "--only variant=torch: no case has it; found unfused, flash",
            ),
            (
                ["run", "trial", "--out", "file/x"],
                "--out file/x: Not a directory; expected a folder that can be",
            ),
            (
                ["check", "trial", "--out", "file"],
                "--out file: File exists; expected a folder that can be written",
            ),
            (
                ["check", "trial", "--junit", "file/x.xml"],
                "--junit file: File exists; expected a folder that can",
            ),
            (
                ["report", "results", "--out", "file"],
                "--out file: File exists; expected a folder that can be written",
            ),
            (["run"], "found neither, expected either an EXPERIMENT or --bundle DIR"),
            (["run", "trial", "--fast"], "No such option: --fast (see 'harness run --help')"),
            (["run", "trial", "--jobs", "0"], "Invalid value for '--jobs': "),
            (["list", "variant"], "Invalid value for 'what': 'variant' is not one of 'variants', "),
            (["rn"], "No such command 'rn'. Did you mean 'run'? (see 'harness --help')"),
        ],
    )
    def test_on_the_command_line(
        self, capsys: pytest.CaptureFixture[str], calls: Calls, arguments: list[str], expected: str
    ) -> None:
        Path("file").write_text("")
        assert error_line(capsys, *arguments).startswith(expected)
        assert calls.runs == []
        assert calls.reports == []


def test_every_mistake_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("wrong.toml").write_text(EXPERIMENT.replace("64, 128", "0").replace("heads = 4", "heads = 0"))
    assert main(["run", "wrong.toml"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "harness: wrong.toml: problem.heads: found 0, expected a positive integer",
        "harness: wrong.toml: problem.seq: found 0, expected a positive integer",
    ]


CLOSED_PIPE = """
import os, sys
from harness.__main__ import main

reader, writer = os.pipe()
os.dup2(writer, 1)
os.close(reader)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", [["list", "variants"], ["doctor"], ["--help"]])
def test_a_closed_pipe_is_no_failed_case(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLOSED_PIPE, *command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (141, "")


class TestHelp:
    @pytest.mark.parametrize("arguments", [[], ["--help"]])
    def test_the_commands_are_listed(self, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
        assert main(arguments) == 0
        commands = capsys.readouterr().out.partition("Commands:")[2].split("\n")
        assert [line.split()[0] for line in commands if line.strip()] == [
            "run",
            "build",
            "check",
            "report",
            "ir",
            "layout",
            "list",
            "doctor",
        ]

    def test_help_imports_nothing_heavy(self) -> None:
        program = (
            "import sys; from harness.__main__ import main; main(['--help'])\n"
            "heavy = {'mlir', 'iree', 'torch', 'pandas', 'numpy', 'matplotlib', 'pydantic', 'rich'}\n"
            "print('imported:', sorted(heavy & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "imported: []"

    def test_the_module_can_be_run(self) -> None:
        command = [sys.executable, "-m", "harness", "run", "missing.toml"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "harness: missing.toml: no such file; expected an experiment in TOML\n"

    @pytest.mark.parametrize("option", ["--help", "-h"])
    @pytest.mark.parametrize("command", [[], ["run"], ["ir"]])
    def test_help_has_a_short_name(
        self, capsys: pytest.CaptureFixture[str], command: list[str], option: str
    ) -> None:
        assert main([*command, option]) == 0
        assert capsys.readouterr().out.startswith("Usage: harness")

    @pytest.mark.parametrize("option", ["--version", "-V"])
    def test_the_version_has_a_short_name(self, capsys: pytest.CaptureFixture[str], option: str) -> None:
        assert main([option]) == 0
        assert capsys.readouterr().out.startswith("attention-harness ")

    def test_a_shell_can_complete_commands(self) -> None:
        asked = {"_HARNESS_COMPLETE": "complete_bash", "COMP_WORDS": "harness ch", "COMP_CWORD": "1"}
        completed = subprocess.run(
            [sys.executable, "-c", "import sys; from harness.__main__ import main; sys.exit(main())"],
            env={**os.environ, **asked},
            capture_output=True,
            text=True,
            check=False,
        )
        assert completed.stdout.split() == ["check"]
