"""Results for libraries of plots: samples in long form, and figures on axes of one's own."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure as Drawing
from synthetic_results import WriteRun, make_result

import harness
from harness.results.run_folder import RunFolder
from harness.results.timing_rounds import Round
from harness.system.errors import InputError

ROUNDS, STARTS = 3, 2


@pytest.fixture
def run(write_run: WriteRun) -> Path:
    """A run of two variants at two lengths, in rounds in which each took its turn; a third one failed."""
    results = [
        make_result(
            name, seq, case=f"{name} {seq}", time_s=2e-3, baseline="unfused", baseline_case=f"unfused {seq}"
        )
        for seq in (256, 512)
        for name in ("unfused", "flash")
    ]
    folder = write_run([*results, make_result("naive", case="naive", status="crashed", reason="signal 11")])
    run = RunFolder.open(folder)
    for seq in (256, 512):
        for start in range(STARTS):
            for number in range(ROUNDS):
                seconds = {f"unfused {seq}": [4e-3], f"flash {seq}": [1e-3 * (number + 1)]}
                run.append_round(
                    Round(group=f"g{seq}", start=start, round=number, seconds=seconds, load=0.1, at="now")
                )
    return folder


@pytest.mark.filterwarnings("error")
def test_long_form_has_a_row_for_each_sample(run: Path) -> None:
    samples = harness.tidy(run)
    assert len(samples) == 2 * 2 * STARTS * ROUNDS
    assert {"case", "variant", "label", "target", "dtype", "seq", "start", "round", "time_s"} <= set(samples)
    assert not samples.columns.duplicated().any()
    flash = samples[(samples["variant"] == "flash") & (samples["seq"] == 256) & (samples["start"] == 1)]
    assert flash["time_s"].tolist() == [1e-3, 2e-3, 3e-3]
    assert flash["speedup"].tolist() == pytest.approx([4.0, 2.0, 4 / 3])
    assert flash["tflops"].tolist() == pytest.approx((flash["flops"] / flash["time_s"] / 1e12).tolist())
    assert (samples.loc[samples["variant"] == "unfused", "speedup"] == 1).all()


def test_rounds_that_a_row_is_not_made_of_are_left_out(run: Path) -> None:
    older = Round(group="old", round=0, seconds={"flash 256": [9.0]}, load=0.1, at="before")
    journal = run / "rounds.jsonl"
    journal.write_text(older.model_dump_json() + "\n" + journal.read_text())
    assert harness.tidy(run)["time_s"].max() < 9


def test_long_form_of_a_part_of_a_table(run: Path) -> None:
    frame = harness.load(run)
    samples = harness.tidy(frame[frame["seq"] == 512])
    assert set(samples["seq"]) == {512}
    assert len(samples) == 2 * STARTS * ROUNDS


@pytest.mark.parametrize("found", [5, pd.DataFrame({"case": ["a"]})])
def test_what_is_no_run_is_refused(found: Any) -> None:
    with pytest.raises(InputError, match=r"^run: found .*, expected "):
        harness.tidy(found)


def test_a_figure_is_drawn_on_axes_of_ones_own(run: Path) -> None:
    drawing = Drawing()
    with pyplot.rc_context({"axes.titlesize": 17, "font.size": 13}):
        axes = drawing.subplots()
        assert harness.draw("throughput", run, ax=axes, variants=["flash"]) is axes
    assert [container.get_label() for container in axes.containers] == ["flash"]
    assert axes.get_ylabel().startswith("throughput")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["flash"]
    assert axes.title.get_fontsize() == 17
    assert len(drawing.axes) == 1
    assert not drawing.texts


def test_several_panels_need_as_many_axes(write_run: WriteRun) -> None:
    run = write_run(
        [
            make_result("flash", seq, mask=mask, time_s=factor * seq * 1e-5)
            for mask, factor in (("full", 1), ("causal", 9))
            for seq in (256, 512)
        ]
    )
    drawing = Drawing()
    first, second = drawing.subplots(1, 2)
    with pytest.raises(InputError, match=r"^ax: found 1 axes, expected 2, .*full mask; causal mask.*where"):
        harness.draw("throughput", run, ax=first)
    harness.draw("throughput", run, ax=drawing.axes)
    assert [axes.get_title() for axes in (first, second)] == ["full mask", "causal mask"]
    assert first.get_ylim() != second.get_ylim()  # of another magnitude
    first, second = Drawing().subplots(1, 2)
    harness.draw("throughput", run, ax=[first, second], sharey=True)
    assert first.get_ylim() == second.get_ylim()
    first.clear()
    harness.draw("throughput", run, ax=first, where="causal")
    assert len(first.containers) == 1


def test_headings_on_axes_of_ones_own_are_no_wider_than_these(write_run: WriteRun) -> None:
    run = write_run([make_result("flash", time_s=1.0, tflops=0.01, peak_tflops=0.25, peak_unit="f32")])
    wide, narrow = Drawing(figsize=(7, 3)).subplots(), Drawing(figsize=(7, 3)).subplots(1, 4)[0]
    for axes in (wide, narrow):
        harness.draw("throughput", run, ax=axes)
    assert wide.get_title().split() == narrow.get_title().split()
    assert (wide.get_title().count("\n"), narrow.get_title().count("\n") > 1) == (0, True)


@pytest.mark.parametrize("figure", ["speedup", "matrix", "build_time"])
def test_every_kind_of_figure_takes_axes(write_run: WriteRun, figure: str) -> None:
    results = [
        make_result(name, seq, time_s=1e-3, speedup=1.5, baseline="torch", build_s=1.0)
        for name in ("flash", "naive")
        for seq in (256, 512)
    ]
    axes = Drawing().subplots()
    harness.draw(figure, write_run(results), ax=axes)
    assert axes.patches


def test_without_axes_it_is_a_figure_with_its_caption(run: Path) -> None:
    drawing = harness.draw("throughput", harness.load(run))
    assert [text.get_gid() for text in drawing.texts] == ["caption"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"figure": "thruput"}, "unknown figure 'thruput'"),
        ({"figure": 5}, "figure: found 5, expected a name"),
        ({"ax": 5}, "ax: found 5, expected matplotlib's axes"),
        ({"style": "pie"}, "figures.throughput.style: "),
        ({"variants": ["flsh"]}, "figures.throughput.variants: unknown variant 'flsh'"),
    ],
)
def test_arguments_that_cannot_be_are_named(run: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        harness.draw(**{"figure": "throughput", "run": run, **arguments})
    assert message in str(raised.value)


def test_a_run_without_samples_is_one_line(write_run: WriteRun) -> None:
    with pytest.raises(InputError, match="found no timing sample of these cases"):
        harness.tidy(write_run([make_result("flash")]))
