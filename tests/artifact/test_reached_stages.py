from pathlib import Path

from harness.artifact.reached_stages import ReachedStage, ReachedStages, stages_left_in


def stage(name: str, text: str = "") -> ReachedStage:
    return ReachedStage(name=name, suffix="mlir", text=text, seconds=0.5)


def test_stages_are_found_in_the_order_in_which_they_were_left(tmp_path: Path) -> None:
    reached = ReachedStages()
    with reached.left_in(tmp_path):
        for name in ("payload", "grid", "object"):
            reached.leave(stage(name))
    reached.leave(stage("later"))
    assert [found.name for found in stages_left_in(tmp_path)] == ["payload", "grid", "object"]


def test_the_last_output_of_a_stage_counts(tmp_path: Path) -> None:
    reached = ReachedStages()
    with reached.left_in(tmp_path):
        for text in ("first", "second"):
            reached.leave(stage("payload", text))
    assert stages_left_in(tmp_path) == (stage("payload", "second"),)


def test_a_file_that_a_crash_cut_short_is_left_out(tmp_path: Path) -> None:
    reached = ReachedStages()
    with reached.left_in(tmp_path):
        for name in ("payload", "grid"):
            reached.leave(stage(name))
    last = max(tmp_path.iterdir())
    last.write_bytes(last.read_bytes()[:-5])
    assert stages_left_in(tmp_path) == (stage("payload"),)
