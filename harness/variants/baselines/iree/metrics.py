"""What is known of IREE's code without running it."""

import re
from collections.abc import Sequence

from harness.artifact.artifact import StaticMetrics
from harness.targets.cuda import ptx, ptxas
from harness.targets.cuda.nvdisasm import together
from harness.targets.gpu.kernel_metrics import KernelMetrics, combine, instructions
from harness.targets.object_files import code_bytes
from harness.targets.rocm import code_object
from harness.targets.rocm.code_object import instruction_classes
from harness.variants.baselines.iree.compilation import Image

LOCAL_MEMORY = re.compile(r"\bworkgroup_local_memory = (\d+)")
"""What IREE notes beside a kernel: the bytes that it asks for when it launches it."""


def processor_figures(images: Sequence[Image]) -> StaticMetrics:
    """Return the metrics of code for the processor."""
    return StaticMetrics(code_bytes=sum(code_bytes(image.code) for image in images) or None)


def cuda_metrics(images: Sequence[Image], exports: str, chip: str) -> StaticMetrics:
    """Return the metrics of PTX; `exports` is the IR in which IREE notes what a kernel is launched with."""
    launched = [KernelMetrics(shared_bytes=int(size)) for size in LOCAL_MEMORY.findall(exports)]
    assemblies = [image.assembly for image in images]
    stated = [kernel for text in assemblies for kernel in ptx.kernel_metrics(text)]
    assembled = [ptxas.assemble(image.code, chip) for image in images]
    ptxas_results = [result for result in assembled if result is not None]
    kernels = [kernel for result in ptxas_results for kernel in result.kernels]
    is_complete = bool(images) and len(ptxas_results) == len(images)
    return combine([*launched, *stated, *(kernels if is_complete else ())]).model_copy(
        update={
            "intrinsics": instructions(ptx.MATRIX_INSTRUCTION, assemblies),
            "instructions": together(result.instructions for result in ptxas_results) if is_complete else {},
            "code_bytes": sum(code_bytes(result.cubin) for result in ptxas_results) if is_complete else None,
        }
    )


def rocm_figures(images: Sequence[Image]) -> StaticMetrics:
    """Return the metrics of HSA code objects."""
    assemblies = [image.assembly for image in images]
    kernels = [kernel for text in assemblies for kernel in code_object.kernel_metrics(text)]
    return combine(kernels).model_copy(
        update={
            "intrinsics": instructions(code_object.MATRIX_INSTRUCTION, assemblies),
            "instructions": instruction_classes("\n".join(assemblies)),
            "code_bytes": sum(code_bytes(image.code) for image in images),
        }
    )
