"""The command line: what the commands ask of the other modules, and exit statuses."""

from pathlib import Path

import pytest
from example_results import example_result, failed_result
from recorded_calls import EXPERIMENT, Calls, error_line

from harness.__main__ import main
from harness.cli import doctor
from harness.errors import RunInterrupted
from harness.status import Status

pytestmark = pytest.mark.usefixtures("calls")


class TestRun:
    def test_all_cases_are_run_and_reported(self, calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "experiments/trial.toml"]) == 0
        (call,) = calls.runs
        assert (call["experiment"], len(call["cases"])) == ("trial", 4)
        assert (call["out"], call["timed"], call["resume"]) == (Path("results"), True, False)
        assert calls.reports == [([calls.folder], None, ("svg",))]
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

    def test_a_profile_is_run_and_named(self, calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
        Path("scaled.toml").write_text(EXPERIMENT + "[profiles.cpu.problem]\nseq = 32\n")
        assert main(["run", "scaled.toml", "--profile", "cpu"]) == 0
        assert {case.problem.seq_q for case in calls.runs[0]["cases"]} == {32}
        assert capsys.readouterr().err == "harness: profile cpu of trial: 2 cases\n"

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

    @pytest.mark.parametrize(
        ("refusal", "what"),
        [(MemoryError(), "memory"), (RuntimeError("can't start new thread"), "threads")],
    )
    def test_a_system_that_gives_no_more_is_one_line(
        self, refusal: Exception, what: str, calls: Calls, capsys: pytest.CaptureFixture[str]
    ) -> None:
        calls.interruption = refusal
        assert main(["run", "trial"]) == 2
        assert capsys.readouterr().err == (
            f"harness: the system gives no more {what} (see 'ulimit -a'); what was measured is kept\n"
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

    @pytest.mark.parametrize(
        ("setting", "line"),
        [
            ("", "inputs: normal; others show other mistakes: set [check] distributions to names that "),
            ('distributions = ["normal", "large-logits"]', "inputs: normal, large-logits"),
        ],
    )
    def test_the_line_before_it_names_the_inputs(
        self, calls: Calls, capsys: pytest.CaptureFixture[str], setting: str, line: str
    ) -> None:
        Path("drawn.toml").write_text(EXPERIMENT + f"[check]\n{setting}\n")
        main(["check", "drawn.toml"])
        told = capsys.readouterr().out.splitlines()[-2]
        assert told == line + ("" if setting else "'harness list distributions' lists")

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

    def test_a_figure_that_was_asked_for_and_is_not_drawn_is_a_failure(self, calls: Calls) -> None:
        calls.skipped = {"throughput": "no case was timed"}
        assert main(["report", "a", "--figure", "throughput"]) == 1

    def test_settings_without_their_figure_are_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        message = error_line(capsys, "report", "a", "--set", "style=bars")
        assert message == "--set: found no --figure, expected the figure that the settings are for"

    def test_an_edited_experiment_labels_and_rows(self, calls: Calls) -> None:
        options = ["--experiment", "trial", "--label", "before", "--label", "after", "--rows"]
        assert main(["report", "a", "b", "--out", "both", *options]) == 0
        assert calls.report_arguments["experiment"].name == "trial"
        assert calls.report_arguments["labels"] == ["before", "after"]
        assert calls.report_arguments["by_row"] is True

    @pytest.mark.parametrize("has_browser", [True, False])
    def test_the_page_is_opened_or_a_line_says_why_not(
        self,
        calls: Calls,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        has_browser: bool,
    ) -> None:
        opened: list[str] = []
        monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or has_browser)
        assert main(["report", "a", "--open"]) == 0
        page = calls.folder / "report" / "report.html"
        assert opened == [page.as_uri()]
        told = f"harness: no browser found here; open {page} in one, on any machine: it needs no other file\n"
        assert capsys.readouterr().err == ("" if has_browser else told)

    def test_no_page_is_opened_where_none_is_written(self, capsys: pytest.CaptureFixture[str]) -> None:
        message = error_line(capsys, "report", "a", "--figure", "throughput", "--open")
        assert message == "--open: found --figure, which writes no page; expected only one of both"

    def test_published_points_are_overlaid_where_asked_for(self, calls: Calls) -> None:
        assert main(["report", "a", "--out", "b"]) == 0
        assert calls.report_arguments["published"] is False
        assert main(["report", "a", "--out", "b", "--published"]) == 0
        assert calls.report_arguments["published"] is True

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

    def test_experiments_here_hide_those_that_ship(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("experiments/smoke.toml").write_text(EXPERIMENT)
        assert main(["list", "experiments"]) == 0
        questions = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
        assert questions["smoke"] == questions["trial"] == "Does it work?"
        assert questions["seq_sweep"].startswith("How does each variant's throughput grow")

    def test_a_file_beside_is_suggested_for_its_bare_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("tiles.toml").write_text(EXPERIMENT)
        assert error_line(capsys, "run", "tiles") == (
            "tiles: no such experiment; did you mean the file tiles.toml?"
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


class TestTextFromElsewhere:
    """It never steers the terminal that it is shown on."""

    def test_in_lists(self, calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
        text = EXPERIMENT.replace("Does it work?", "Does\\u001b[31m\\nit?")
        Path("experiments/trial.toml").write_text(text)
        assert main(["list", "experiments"]) == 0
        assert " Does\\x1b[31m\\nit?\n" in capsys.readouterr().out

    def test_in_the_line_that_ends_a_report(self, calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
        calls.folder = Path("re\x1bceived")
        assert main(["report", "received"]) == 0
        assert main(["run", "trial"]) == 0
        assert capsys.readouterr().out.count("report: re\\x1bceived/report\n") == 2

    def test_in_notes(self, calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
        calls.notes = ("built by other code (0.1\x1b[2J)",)
        assert main(["report", "received"]) == 0
        assert capsys.readouterr().err == "harness: built by other code (0.1\\x1b[2J)\n"
