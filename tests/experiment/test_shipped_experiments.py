"""The experiments in `experiments/`: each loads with the real plugins and has the cases it should."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.experiment.experiment import Experiment, load_experiment
from harness.experiment.experiment_file import text_of, toml_of
from harness.experiment.profiles import profile_names
from harness.plugins import name_of
from harness.reporting.published.points import PROBLEM, published_points
from harness.targets.rocm import chips as rocm_chips
from harness.targets.xegpu import chips as xegpu_chips

FOLDER = Path(__file__).parents[2] / "experiments"


def shipped(name: str) -> Experiment:
    return load_experiment(FOLDER / f"{name}.toml")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_every_experiment_loads_under_its_files_name(path: Path) -> None:
    experiment = load_experiment(path)
    assert experiment.name == path.stem
    assert experiment.question.endswith("?")


@pytest.mark.parametrize(
    ("name", "target", "chips"),
    [("rocm_kernels", "rocm", rocm_chips.CHIPS), ("xegpu_kernels", "xegpu", xegpu_chips.CHIPS)],
)
def test_the_matrix_of_a_vendors_kernels_has_every_chip_with_whole_and_ragged_tiles(
    name: str, target: str, chips: Mapping[str, object]
) -> None:
    cases = shipped(name).cases()
    assert {case.target for case in cases} == {f"{target}:{chip}" for chip in chips}
    assert {case.variant for case in cases} == {"unfused", "naive", "flash"}
    problems = {case.problem for case in cases if case.problem.dtype != "f32"}
    assert {problem.seq_kv % 64 for problem in problems} == {0, 141 % 64}
    assert {(problem.batch, problem.heads) for problem in problems} == {(1, 1), (2, 2)}


def profile(name: str, of: str = "cpu") -> Experiment:
    return load_experiment(FOLDER / f"{name}.toml", of)


RECIPES = ["fa_forward", "vector_distribution", "tile_and_fuse", "varlen_skew", "split_head_ranks"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_a_profile_that_a_processor_does_in_minutes(name: str) -> None:
    experiment = profile(name)
    cases = experiment.cases()
    assert len(list(Experiment.groups(cases))) * experiment.timing.budget_s < 2 * 60
    assert "cpu" in {case.target for case in cases}
    assert "cpu" not in {case.target for case in shipped(name).cases()}
    assert max(case.problem.flops() for case in cases) < 10e9


VENDOR_OF = {"NVIDIA": "cuda", "AMD": "rocm", "Intel Xeon": "cpu", "Intel": "xegpu"}
"""The target of a published point, by the beginning of its device's name."""


def test_every_published_point_is_of_a_shipped_experiment_for_its_device() -> None:
    problems: dict[str, set[tuple[object, ...]]] = {target: set() for target in VENDOR_OF.values()}
    for path in FOLDER.glob("*.toml"):
        for name in (None, *profile_names(toml_of(text_of(path), path))):
            for case in load_experiment(path, name).cases():
                of_target = problems[name_of(case.target)]
                if case.problem.seq_q == case.problem.seq_kv:
                    of_target.add(tuple(getattr(case.problem, field) for field in PROBLEM))
    points = published_points()
    unmatched = [
        f"{device}: {point}"
        for device, *point in points[["device", *PROBLEM]].itertuples(index=False, name=None)
        if tuple(point) not in problems[next(t for v, t in VENDOR_OF.items() if device.startswith(v))]
    ]
    assert not unmatched, "\n".join(dict.fromkeys(unmatched))


@pytest.mark.parametrize("name", ["gpu_sweep", "fa_forward", "tile_and_fuse", "published"])
def test_what_times_gpus_has_a_profile_for_each_vendor(name: str) -> None:
    own = {name_of(case.target) for case in shipped(name).cases()}
    profiles = {
        vendor: {name_of(case.target) for case in profile(name, vendor).cases()}
        for vendor in ("rocm", "xegpu")
    }
    assert (own, profiles) == ({"cuda"}, {"rocm": {"rocm"}, "xegpu": {"xegpu"}})
