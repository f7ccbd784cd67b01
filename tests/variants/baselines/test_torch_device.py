"""The PyTorch baselines on a GPU; here PyTorch's tensors stay on the CPU, and the driver is the stub."""

from pathlib import Path

import numpy as np
import pytest

from harness.artifact.artifact import Artifact
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.system.errors import UnsupportedError
from harness.variants.baselines.torch.variant import Torch, TorchUnfused

NEEDS_TORCH = pytest.mark.extra("baselines", "device")

SMALL = AttentionProblem(heads=2, seq_q=8, head_dim=8, causal=True)


def build(variant, folder: Path, **params) -> Artifact:
    case = Case(problem=SMALL, variant=variant.name, target="cuda:sm_80", params=params)
    return variant.build(case, "key", folder)


@pytest.mark.parametrize("variant", [Torch(), TorchUnfused()], ids=lambda variant: variant.name)
def test_a_build_imports_no_pytorch_and_needs_no_device(variant, tmp_path):
    artifact = build(variant, tmp_path)
    assert artifact.executor == "none"
    assert (artifact.why_not_run or "").startswith("no device")
    (loader,) = artifact.loaders
    assert loader.function == f"harness.variants.baselines.torch.device:{variant.loader}"
    assert artifact.launch == {"chip": "sm_80"}


def test_a_backend_is_for_gpus(tmp_path):
    case = Case(problem=SMALL, variant="torch", target="cpu", params={"backend": "math"})
    with pytest.raises(UnsupportedError, match="backend math: chosen on GPUs only"):
        Torch().build(case, "key", tmp_path)


@pytest.fixture
def on_device(monkeypatch):
    """The module, in a process whose PyTorch seems to have CUDA and computes on the CPU."""
    import torch
    from stubbed_device import stub_device

    from harness.variants.baselines.torch import device as torch_device

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: type("Stream", (), {"cuda_stream": 0}))
    device = torch.device
    monkeypatch.setattr(torch, "device", lambda kind, index=None: device("cpu"))
    with stub_device("sm_80"):
        yield torch_device


@NEEDS_TORCH
@pytest.mark.parametrize("backend", [None, "math"])
def test_the_named_backend_computes_and_is_timed_by_events(on_device, backend, tmp_path):
    params = {} if backend is None else {"backend": backend}
    inputs = make_inputs(SMALL)
    call = on_device.load_fused(build(Torch(), tmp_path, **params), tmp_path).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, SMALL).check(call.output()).ok
    sample = call.sample(0.0)
    assert sample.calls == 1
    assert sample.device.launch_s is not None


@NEEDS_TORCH
def test_a_backend_without_a_kernel_is_no_failure(on_device, tmp_path):
    call = on_device.load_fused(build(Torch(), tmp_path, backend="cudnn"), tmp_path).bind(make_inputs(SMALL))
    with pytest.raises(UnsupportedError, match="PyTorch's backend cudnn has no kernel for this problem"):
        call.run()


@NEEDS_TORCH
def test_the_three_calls_run_there_too(on_device, tmp_path):
    inputs = make_inputs(SMALL)
    call = on_device.load_unfused(build(TorchUnfused(), tmp_path), tmp_path).bind(inputs)
    call.poison()
    assert np.isnan(call.output()).all()
    call.run()
    assert expect(inputs, SMALL).check(call.output()).ok


@NEEDS_TORCH
def test_a_pytorch_without_cuda_is_named(tmp_path):
    from harness.variants.baselines.torch import device as torch_device

    if torch_device.torch.cuda.is_available():
        pytest.skip("this PyTorch has CUDA")
    with pytest.raises(UnsupportedError, match="was built without CUDA: install a build with it"):
        torch_device.load_fused(build(Torch(), tmp_path), tmp_path)
