import pytest
from variants.native_runs import build, judge

from harness import plugins
from harness.artifact.artifact import Artifact, StaticMetrics
from harness.bench.running.peaks import unit_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.targets.cpu import chip as chips
from harness.targets.cpu.chip import AVX2, AVX512, chip

PROBLEM = AttentionProblem(heads=2, seq_q=20, head_dim=8)


@pytest.fixture
def machine(monkeypatch):
    """Pretend that this machine has exactly the given instruction-set features."""

    def pretend(features):
        monkeypatch.setattr(chips, "host_features", lambda: dict.fromkeys(features, True))

    return pretend


@pytest.mark.parametrize(
    ("features", "vector_length"), [(AVX512, 16), (AVX2, 8), (("sse2",), 4), (AVX512[:-1], 8)]
)
def test_the_host_s_vectors_follow_from_its_features(machine, features, vector_length):
    machine(features)
    assert chip("host").registers.vector_length == chip(None).registers.vector_length == vector_length


@pytest.mark.parametrize(("features", "executor"), [(AVX512, "native"), (AVX2, "none")])
def test_code_for_avx512_is_built_anywhere_and_run_where_it_can(machine, tmp_path, features, executor):
    machine(features)
    case = Case(problem=PROBLEM, variant="flash", target="cpu:avx512")
    artifact = plugins.variant("flash").build(case, "key", tmp_path)
    assert artifact.executor == executor


@pytest.mark.skipif(not chip("avx2").runs_here, reason="this machine has no AVX2")
def test_code_for_avx2_is_right():
    assert build("flash", PROBLEM, target="cpu:avx2")[0].executor == "native"
    assert judge("flash", PROBLEM, target="cpu:avx2").first_bad is None


def test_capabilities_name_the_chips_that_run_here(machine):
    machine(AVX2)
    details = {row.action: row.detail for row in plugins.target("cpu").capabilities()}
    assert details == {"build": "chips host, avx2, avx512, avx512-bf16, amx", "run": "natively: host, avx2"}


@pytest.mark.parametrize(
    ("intrinsics", "unit"),
    [(None, "fma-f32"), ("fma", "fma-f32"), ("vdpbf16ps", "vdpbf16ps"), ("amx", "amx")],
)
def test_the_peak_is_of_the_unit_in_the_code(intrinsics, unit):
    case = example("cpu", "bf16")
    artifact = Artifact(
        case=case, key="key", executor="native", loader="", metrics=StaticMetrics(intrinsics=intrinsics)
    )
    assert unit_of(case, artifact) == unit
    assert unit_of(case) == "fma-f32"
    assert unit_of(example("cuda:sm_80", "f16")) == "f16"


def example(target: str, dtype: str) -> Case:
    problem = AttentionProblem(heads=1, seq_q=4, head_dim=4, dtype=dtype)
    return Case(problem=problem, variant="flash", target=target, target_options={"threads": 2})
