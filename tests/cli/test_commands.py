"""The command line: what the commands ask of the other modules, and exit statuses."""

from pathlib import Path

import pytest
from command_lines import error_line
from example_results import example_result, failed_result
from recorded_calls import EXPERIMENT, Calls

from harness.__main__ import main
from harness.system.errors import RunInterrupted
from harness.system.status import Status

pytestmark = pytest.mark.usefixtures("calls")


class TestRun:
    def test_all_cases_are_run_and_reported(self, calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "experiments/trial.toml"]) == 0
        (call,) = calls.runs
        assert (call["experiment"], len(call["cases"])) == ("trial", 4)
        assert (call["out"], call["timed"], call["resume"]) == (Path("results"), True, False)
        assert calls.reports == [([calls.folder], None, ("svg",))]
        assert capsys.readouterr().out == f"tables of 1\nreport: {calls.folder}/report\n"

    def test_options(self, calls: Calls) -> None:
        chosen = ["--only", "variant=flash", "--only", "seq=64"]
        options = [*chosen, "--resume", "--out", "elsewhere", "--jobs", "3"]
        assert main(["run", "trial", *options]) == 0
        (call,) = calls.runs
        assert [(case.variant, case.problem.seq_q) for case in call["cases"]] == [("flash", 64)]
        assert (call["out"], call["resume"], call["jobs"]) == (Path("elsewhere"), True, 3)
        assert Path("elsewhere").is_dir()

    def test_a_profile_is_run_and_named(self, calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
        Path("scaled.toml").write_text(EXPERIMENT + "[profiles.cpu.problem]\nseq = 32\n")
        assert main(["run", "scaled.toml", "--profile", "cpu"]) == 0
        assert {case.problem.seq_q for case in calls.runs[0]["cases"]} == {32}
        assert capsys.readouterr().err.startswith("harness: profile cpu of trial: 2 cases\n")

    @pytest.mark.parametrize("command", ["run", "check"])
    def test_a_shard_is_a_part_of_what_is_chosen_and_is_named(
        self, calls: Calls, capsys: pytest.CaptureFixture[str], command: str
    ) -> None:
        for number in (1, 2):
            assert main([command, "trial", "--only", "variant=flash", "--shard", f"{number}/2"]) == 0
        assert sorted(call["cases"][0].problem.seq_q for call in calls.runs) == [64, 128]
        assert [(len(call["cases"]), call["shard"]) for call in calls.runs] == [(1, "1/2"), (1, "2/2")]
        assert capsys.readouterr().err.splitlines()[0] == "harness: shard 1/2 of trial: 1 of 2 cases"

    def test_an_interruption_says_how_to_go_on(
        self, calls: Calls, capsys: pytest.CaptureFixture[str]
    ) -> None:
        calls.interruption = RunInterrupted([], 28)
        assert main(["run", "trial", "--only", "seq=64"]) == 130
        assert capsys.readouterr().err == (
            "harness: interrupted, 0 of 28 cases finished; continue with: "
            "harness run trial --only seq=64 --resume\n"
        )

    def test_a_system_that_gives_no_more_memory_is_one_line(
        self, calls: Calls, capsys: pytest.CaptureFixture[str]
    ) -> None:
        calls.interruption = MemoryError()
        assert main(["run", "trial"]) == 2
        assert capsys.readouterr().err == (
            "harness: the system gives no more memory (see 'ulimit -a'); what was measured is kept\n"
        )


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
        told = capsys.readouterr().out
        assert (line in told) == bool(status)
        assert told.endswith("1 unsupported (1 against check.supported)\n") == bool(status)

    def test_junit_is_written_even_when_a_case_fails(self, calls: Calls) -> None:
        calls.results = [failed_result()]
        assert main(["check", "trial", "--junit", "out/junit.xml"]) == 1
        assert '<failure type="crashed"' in Path("out/junit.xml").read_text()

    def test_an_interruption_leaves_the_junit_of_what_has_ended(self, calls: Calls) -> None:
        calls.interruption = RunInterrupted([failed_result()], 28)
        assert main(["check", "trial", "--junit", "out/junit.xml"]) == 130
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


class TestTextFromElsewhere:
    """It never steers the terminal that it is shown on."""

    def test_in_lists(self, calls: Calls, capsys: pytest.CaptureFixture[str]) -> None:
        text = EXPERIMENT.replace("Does it work?", "Does\\u001b[31m\\nit?")
        Path("experiments/trial.toml").write_text(text)
        assert main(["list", "experiments"]) == 0
        assert " Does\\x1b[31m\\nit?\n" in capsys.readouterr().out
