"""The experiments in `experiments/`: each loads with the real plugins and has the cases it should."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from harness.experiment.experiment import Experiment, load_experiment
from harness.experiment.experiment_file import text_of, toml_of
from harness.experiment.profiles import profile_names
from harness.plugins import name_of
from harness.problem.distributions import DISTRIBUTIONS
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


def test_the_correctness_matrix_covers_what_it_asks_about() -> None:
    experiment = shipped("correctness")
    cases = experiment.cases()
    problems = [group[0].problem for group in Experiment.groups(cases)]
    plain = [p for p in problems if p.model_width is None and not p.is_packed]
    assert len(plain) == 121
    for problem in problems:
        variants = {case.variant for case in cases if case.problem == problem} - {"iree-decomposed"}
        baselines = variants & {"torch", "torch-unfused", "iree", "iree-unfused"}
        own = variants - baselines
        if problem.model_width is not None:
            assert own == {"split-head"}
        elif problem.is_packed:
            assert own == {"varlen"}
        else:
            assert own == {"unfused", "naive", "upstream-fuse", "flash"}
        expected = 4 if problem in plain else 1
        assert len(baselines) == (0 if problem.sinks or problem.log_sum_exp else expected)
    assert any(0 in np.diff(problem.cu_seqlens_q) for problem in problems if problem.is_packed)
    assert experiment.timing.enabled is False
    assert {problem.dtype for problem in problems} == {"f32", "f16", "bf16"}
    assert {problem.causal for problem in problems} == {False, True}
    for kind in (plain, [p for p in problems if p.model_width], [p for p in problems if p.is_packed]):
        assert {problem.head_dim for problem in kind} >= {32, 80, 256}
    assert {problem.head_dim for problem in problems} == {32, 40, 64, 80, 100, 128, 136, 256, 320}
    assert {problem.seq_q for problem in problems} >= {1, 64, 65, 77, 256, 333, 512}
    assert {(problem.dtype, problem.seq_q > 1) for problem in plain if problem.head_dim % 8} == {
        (dtype, is_long) for dtype in ("f32", "f16") for is_long in (False, True)
    }
    assert any(problem.seq_q > 1024 and problem.seq_kv > 1024 for problem in plain)
    assert any(problem.seq_q > 1024 and problem.is_packed for problem in problems)
    assert any(problem.group_size == 4 for problem in problems)
    assert any(problem.heads >= 16 for problem in problems)
    assert any(problem.group_size > 1 and problem.seq_q == 1 for problem in problems)
    assert set(experiment.check.distributions) == set(DISTRIBUTIONS)
    assert any(problem.seq_q > problem.seq_kv for problem in problems)
    assert any(problem.head_dim_v != problem.head_dim for problem in problems)


def test_the_matrix_of_own_gpu_kernels_has_every_kind_of_problem() -> None:
    experiment = shipped("gpu_kernels")
    cases = experiment.cases()
    problems = list({case.problem: None for case in cases})
    assert len(cases) <= 91
    assert {(case.variant, case.target) for case in cases} == {
        (variant, target)
        for variant in ("unfused", "naive", "flash")
        for target in ("cuda:sm_80", "cuda:sm_90a")
    }
    assert max(problem.flops() for problem in problems) < 0.1e9
    assert set(experiment.check.distributions) == set(DISTRIBUTIONS)
    assert {problem.dtype for problem in problems} == {"f32", "f16", "bf16"}
    assert {problem.group_size for problem in problems} >= {1, 2, 8}
    assert {problem.causal_alignment for problem in problems if problem.causal} == {
        "bottom-right",
        "top-left",
    }
    assert any(problem.head_dim_v != problem.head_dim for problem in problems)
    assert any(problem.seq_q < problem.seq_kv for problem in problems)
    assert any(problem.causal and problem.seq_q > problem.seq_kv for problem in problems)
    assert any(problem.batch > 1 for problem in problems)
    assert {case.params.get("kv_splits", 1) for case in cases} >= {1, 2, 3}
    assert {problem.seq_q for problem in problems} >= {1, 5, 63, 64, 65, 129}
    assert {problem.seq_kv % 64 for problem in problems} >= {0, 1, 63}


@pytest.mark.parametrize(
    ("name", "target", "chips"),
    [("rocm_kernels", "rocm", rocm_chips.CHIPS), ("xegpu_kernels", "xegpu", xegpu_chips.CHIPS)],
)
def test_the_matrix_of_a_vendors_kernels_has_every_chip_with_whole_and_ragged_tiles(
    name: str, target: str, chips: Mapping[str, object]
) -> None:
    cases = shipped(name).cases()
    of_f32 = {case.target for case in cases if case.problem.dtype == "f32"}
    assert of_f32 == ({"rocm:gfx90a", "rocm:gfx942", "rocm:gfx950"} if target == "rocm" else set())
    not_naive = 2 * len(of_f32) + ("rocm:gfx950" in of_f32)
    assert len(cases) == (48 + 2) * len(chips) + not_naive
    assert {case.target for case in cases} == {f"{target}:{chip}" for chip in chips}
    assert {case.variant for case in cases} == {"unfused", "naive", "flash"}
    problems = {case.problem for case in cases if case.problem.dtype != "f32"}
    assert len(problems) == 16 + 2
    assert {problem.seq_kv % 64 for problem in problems} == {0, 141 % 64}
    assert {(problem.batch, problem.heads) for problem in problems} == {(1, 1), (2, 2)}


@pytest.mark.parametrize("name", ["seq_sweep", "gpu_sweep", "fa_forward"])
def test_throughput_over_lengths_shows_every_variant_but_the_one_that_recomputes(name: str) -> None:
    experiment = shipped(name)
    assert {*experiment.figures["throughput"]["variants"], "naive"} == set(experiment.variants)
    assert name == "fa_forward" or "torch-unfused" in experiment.variants


@pytest.mark.parametrize("name", ["correctness", "gpu_kernels"])
def test_every_dtype_meets_every_kind_of_mask_and_of_heads(name: str) -> None:
    problems = {case.problem for case in shipped(name).cases()}
    for dtype in ("f32", "f16", "bf16"):
        of_dtype = [problem for problem in problems if problem.dtype == dtype]
        assert {problem.causal for problem in of_dtype} == {False, True}
        assert {problem.group_size > 1 for problem in of_dtype} == {False, True}


def profile(name: str, of: str = "cpu") -> Experiment:
    return load_experiment(FOLDER / f"{name}.toml", of)


RECIPES = {
    "fa_forward": (36, 18),
    "vector_distribution": (19, 16),
    "tile_and_fuse": (30, 6),
    "varlen_skew": (24, 12),
    "split_head_ranks": (18, 3),
}
"""Cases, and groups that are timed one after the other, of each recipe's profile for a processor."""


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_a_profile_that_a_processor_does_in_minutes(name: str) -> None:
    experiment = profile(name)
    cases = experiment.cases()
    groups = Experiment.groups(cases)
    assert (len(cases), len(groups)) == RECIPES[name]
    assert len(groups) * experiment.timing.budget_s < 2 * 60
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


def test_the_papers_problems_and_the_talks_have_published_points() -> None:
    columns = ["batch", "heads", "seq_q", "head_dim", "causal"]
    published = published_points(["H100 SXM5"])[columns].itertuples(index=False, name=None)
    of_papers = {
        (p.batch, p.heads, p.seq_q, p.head_dim, p.causal)
        for name in (None, "cpu-published")
        for p in (case.problem for case in load_experiment(FOLDER / "fa_forward.toml", name).cases())
    }
    assert of_papers == set(published)
