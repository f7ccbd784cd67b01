"""What IREE builds for a GPU, from an experiment to a row: executed by the emulator, judged by the oracle."""

from io import StringIO

import pytest
from caches import empty_cache

from harness.bench.running.progress import PlainObserver
from harness.bench.running.runner import run_experiment
from harness.emulator.native_library import compiler
from harness.experiment.experiment import load_experiment
from harness.system.machine.gpus import devices
from harness.system.status import Status

EXPERIMENT = """
name = "gpu"
question = "Is it right?"
variants = ["iree", "iree-decomposed"]
targets = ["rocm:gfx942"]

[problem]
heads = 1
head_dim = 64
seq = 128
dtype = "f16"
causal = true

[variant.iree-decomposed]
tile_kv = 32
division = "every-step"

[timing]
enabled = false
"""


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
@pytest.mark.skipif(bool(devices("rocm")), reason="a device is here")
def test_device_code_is_executed_and_right(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(empty_cache(tmp_path / "cache")))
    file = tmp_path / "gpu.toml"
    file.write_text(EXPERIMENT)
    experiment = load_experiment(file)
    summary = run_experiment(
        experiment,
        experiment.cases(),
        out=tmp_path,
        resume=False,
        timed=False,
        jobs=2,
        observer=PlainObserver(StringIO()),
        command=["harness", "check", "gpu.toml"],
    )
    rows = summary.results
    assert [(row.variant, row.status) for row in rows] == [
        ("iree", Status.EMULATED),
        ("iree-decomposed", Status.EMULATED),
    ]
    for row in rows:
        assert (row.executor, row.device) == ("emulator", "emulated gfx942")
        assert 0 < row.error_ratio < 1
        assert row.intrinsics == "v_mfma_f32_16x16x16_f16"
        assert row.time_s is None
