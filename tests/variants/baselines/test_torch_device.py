"""The PyTorch baselines on a GPU; here PyTorch's tensors stay on the CPU, and drivers are the stubs."""

from collections.abc import Iterator
from contextlib import contextmanager
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


TARGETS = ("cuda:sm_80", "rocm:gfx942", "xegpu:bmg")


def build(variant, folder: Path, target: str = "cuda:sm_80", **params) -> Artifact:
    case = Case(problem=SMALL, variant=variant.name, target=target, params=params)
    return variant.build(case, "key", folder)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("variant", [Torch(), TorchUnfused()], ids=lambda variant: variant.name)
def test_a_build_imports_no_pytorch_and_needs_no_device(variant, target, tmp_path):
    artifact = build(variant, tmp_path, target)
    assert artifact.executor == "none"
    assert (artifact.why_not_run or "").startswith("no device")
    (loader,) = artifact.loaders
    assert loader.function == f"harness.variants.baselines.torch.device:{variant.loader.partition(':')[2]}"
    assert artifact.launch == {"chip": target.partition(":")[2]}


def test_a_backend_is_for_gpus(tmp_path):
    case = Case(problem=SMALL, variant="torch", target="cpu", params={"backend": "math"})
    with pytest.raises(UnsupportedError, match="backend math: chosen on GPUs only"):
        Torch().build(case, "key", tmp_path)


class XpuEvent:
    """An event as PyTorch has it for Intel's GPUs: its times are those of the order of recording."""

    recorded = 0

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        XpuEvent.recorded += 1
        self.milliseconds = XpuEvent.recorded

    def synchronize(self) -> None:
        assert self.milliseconds

    def elapsed_time(self, end: "XpuEvent") -> float:
        return end.milliseconds - self.milliseconds


@contextmanager
def machine_with(target: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be a machine with one device, whose PyTorch is built for it and computes on the CPU."""
    import torch
    from stubbed_device import stub_amd_device, stub_device, stub_intel_device

    name, _, chip = target.partition(":")
    device, stub = torch.device, {"cuda": stub_device, "rocm": stub_amd_device, "xegpu": stub_intel_device}
    monkeypatch.setattr(torch, "device", lambda kind, index=None: device("cpu"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: name != "xegpu")
    monkeypatch.setattr(torch.version, "hip", "6.4" if name == "rocm" else None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: type("Stream", (), {"cuda_stream": 0}))
    for member, value in {
        "is_available": lambda: True,
        "device_count": lambda: 2,
        "get_device_name": lambda ordinal: ("Other", "emulated bmg")[ordinal],
        "set_device": lambda device: None,
        "synchronize": lambda: None,
        "Event": XpuEvent,
    }.items():
        monkeypatch.setattr(torch.xpu, member, value)
    with stub[name](chip):
        yield


@pytest.fixture(params=TARGETS)
def target(request, monkeypatch) -> Iterator[str]:
    with machine_with(request.param, monkeypatch):
        yield request.param


@pytest.fixture
def on_device(monkeypatch):
    """The module, in a process whose PyTorch seems to have CUDA and computes on the CPU."""
    from harness.variants.baselines.torch import device as torch_device

    with machine_with("cuda:sm_80", monkeypatch):
        yield torch_device


@NEEDS_TORCH
@pytest.mark.parametrize("backend", [None, "math"])
def test_the_named_backend_computes_and_is_timed_by_events(target, backend, tmp_path):
    from harness.variants.baselines.torch import device as on_device

    params = {} if backend is None else {"backend": backend}
    inputs = make_inputs(SMALL)
    call = on_device.load_fused(build(Torch(), tmp_path, target, **params), tmp_path).bind(inputs)
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
def test_a_pytorch_of_another_build_is_named(tmp_path, monkeypatch):
    import torch

    from harness.variants.baselines.torch import device as torch_device

    for namespace in (torch.cuda, torch.xpu):
        monkeypatch.setattr(namespace, "is_available", lambda: False)
    for target, what in zip(TARGETS, ("CUDA", "ROCm", "XPU"), strict=True):
        (tmp_path / what).mkdir()
        with pytest.raises(UnsupportedError, match=f"was built without {what}: install a build with it"):
            torch_device.load_fused(build(Torch(), tmp_path / what, target), tmp_path)
