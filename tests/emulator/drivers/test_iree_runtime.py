"""IREE's own runtime, with the emulator for its driver."""

import ctypes
import faulthandler
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import iree.runtime
import numpy as np
import pytest
from callers import at_once
from iree_modules import ATTENTION, CHIPS, GpuModule, compile_payload
from sweeps import sweep

from harness.artifact.bound_call import BoundCall
from harness.artifact.checked_executable import CheckedExecutable
from harness.emulator.drivers.registry import load_image
from harness.emulator.findings import FindingKind
from harness.emulator.launching import FORWARD, REVERSED, LaunchSettings
from harness.oracle.expected import expect
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import make_inputs
from harness.system.errors import EmulatorFindingsError, HarnessError
from harness.variants.baselines.iree.calls import load_on_device
from harness.variants.baselines.iree.emulated import EmulatedExecutable, load

QUICK = LaunchSettings(orders=(FORWARD,))

SCALED = """
func.func @scaled(%x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0 : index
  %size = tensor.dim %x, %zero : tensor<?xf32>
  %empty = tensor.empty(%size) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %three = arith.constant 3.0 : f32
      %product = arith.mulf %in, %three : f32
      linalg.yield %product : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
"""


def bound(executable: EmulatedExecutable) -> BoundCall:
    return executable.bind(make_inputs(ATTENTION, "normal", 0))


def assert_right(call: BoundCall) -> None:
    verdict = expect(make_inputs(ATTENTION, "normal", 0), ATTENTION).check(call.output())
    assert verdict.ok, verdict


def without_barrier(number: int):
    """Return an edit of LLVM IR that takes out one of its barriers."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        barriers = [i for i, line in enumerate(lines) if "call void" in line and "barrier" in line]
        del lines[barriers[number]]
        return "".join(lines)

    return edit


@pytest.mark.parametrize("chip", sweep(CHIPS, but=["sm_80", "gfx942"]))
def test_computes_attention_in_both_orders_and_finds_nothing(attention, chip):
    executable = attention(chip).loaded(settings=LaunchSettings(orders=(FORWARD, REVERSED)))
    call = bound(executable)
    call.run()
    assert_right(call)
    (report,) = executable.reports
    assert report.findings == ()
    assert report.collectives > 0


@pytest.mark.parametrize("chip", sweep(["sm_80", "gfx942"], but=["sm_80"]))
def test_dispatches_that_share_a_buffer(unfused, chip):
    executable = unfused(chip).loaded(settings=QUICK)
    call = bound(executable)
    call.run()
    assert_right(call)
    assert ["matmul" in report.kernel for report in executable.reports] == [True, False, True]


@pytest.mark.parametrize("chip", sweep(["sm_80", "gfx1100"], but=["sm_80"]))
def test_processes_share_a_launch_and_give_the_same_bytes(attention, chip):
    calls = [bound(attention(chip).loaded(settings=replace(QUICK, processes=count))) for count in (1, 2)]
    for call in calls:
        call.run()
    one, two = (call.output() for call in calls)
    np.testing.assert_array_equal(one.view(np.uint16), two.view(np.uint16))


def test_runs_again_with_other_inputs_and_reports_the_last_run_only(attention):
    executable = attention("gfx1201").loaded(settings=QUICK)
    bound(executable).run()
    call = bound(executable)
    call.run()
    call.run()
    assert_right(call)
    assert len(executable.reports) == 1


def test_threads_of_a_caller_take_turns(attention):
    executable = CheckedExecutable(ATTENTION, attention("gfx942").loaded())

    def is_right(seed: int) -> bool:
        inputs = make_inputs(ATTENTION, "normal", seed)
        outputs = [executable(inputs.q, inputs.k, inputs.v) for _ in range(3)]
        return all(expect(inputs, ATTENTION).check(output).ok for output in outputs)

    assert all(at_once(is_right))


@pytest.mark.parametrize("chip", sweep(["sm_80", "gfx1100"], but=["gfx1100"]))
def test_push_constants_and_lengths_known_at_run_time(chip, tmp_path):
    module = compile_payload(SCALED, "scaled", chip, tmp_path)
    executable = module.loaded(settings=QUICK)
    x = np.arange(333, dtype=np.float32)
    arguments = iree.runtime.VmVariantList(1)
    arguments.push_ref(executable.to_device(x).ref)
    results = executable.invoke(arguments)
    y = executable.to_host(results.get_as_object(0, iree.runtime.HalBufferView))
    np.testing.assert_array_equal(y.view(np.float32), 3 * x)


@pytest.mark.parametrize("chip", ["sm_80", "gfx942"])
def test_a_missing_barrier_is_found_with_its_place(attention, chip):
    images = [load_image(image) for image in attention(chip).image_codes(without_barrier(0))]
    executable = attention(chip).loaded(images, QUICK)
    with pytest.raises(EmulatorFindingsError, match=r"race|uninitialized") as raised:
        bound(executable).run()
    (report,) = executable.reports
    kinds = {finding.kind for finding in report.findings}
    assert kinds & {FindingKind.RACE, FindingKind.UNINITIALIZED}
    assert all(finding.line > 0 for finding in report.findings)
    assert raised.value.findings == tuple(map(str, report.findings))


def test_a_kernel_without_code_is_refused(attention):
    module = attention("gfx942")
    with pytest.raises(HarnessError, match="no kernel attention_dispatch"):
        module.loaded([replace(image, kernels={}) for image in module.images])


def test_more_shared_memory_than_the_chip_has_is_refused(attention):
    module = attention("gfx942")
    images = [load_image(image) for image in module.image_codes()]
    for kernel in images[0].kernels.values():
        kernel.structure.shared_arrays[0].bytes = 100_000
    with pytest.raises(HarnessError, match="exceeds the device maximum of 65536B"):
        module.loaded(images)


def test_loads_what_a_build_has_saved(attention, tmp_path):
    module: GpuModule = attention("gfx1201")
    folder = module.saved(tmp_path / "saved")
    call = bound(load(module.artifact, folder))
    call.run()
    assert_right(call)
    assert call.output().dtype == numpy_dtype("f16")


def test_a_device_is_not_confused_with_its_stub(attention):
    module: GpuModule = attention("sm_80")
    module.loaded()
    with pytest.raises(HarnessError, match="emulated in this process"):
        load_on_device(module.artifact, module.folder)


@pytest.fixture
def without_tracebacks() -> Iterator[None]:
    """Let a process that is meant to crash do so silently."""
    was_enabled = faulthandler.is_enabled()
    faulthandler.disable()
    yield
    if was_enabled:
        faulthandler.enable(sys.__stderr__)


@pytest.mark.usefixtures("without_tracebacks")
def test_a_kernel_that_crashes_is_an_error_of_its_own(attention):
    module = attention("gfx1201")
    images = [load_image(image) for image in module.image_codes()]
    for kernel in images[0].kernels.values():
        kernel.structure.entry = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value
    call = bound(module.loaded(images, replace(QUICK, processes=2)))
    with pytest.raises(HarnessError, match="ended by signal 6"):
        call.run()


def test_loading_needs_no_mlir():
    program = "import sys, harness.variants.baselines.iree.emulated; sys.exit('mlir' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
