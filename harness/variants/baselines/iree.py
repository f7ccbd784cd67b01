"""The IREE baselines: `iree` (its attention op) and `iree-unfused` (three linalg ops), both by llvm-cpu.

IREE chooses all tiles and vectorization itself.  The compiler runs as a program of its own, so its abort
is an error here and not a crash.
"""

import importlib.metadata
import importlib.util
import subprocess
import tempfile
import time
from pathlib import Path

from harness.artifact import Artifact, StaticFigures
from harness.case import Case
from harness.errors import BuildError, UnsupportedError
from harness.problem import AttentionProblem
from harness.variants.base import Variant
from harness.variants.baselines import iree_payload
from harness.variants.baselines.masks import queries_without_keys

TARGET_CPUS = {"": "host", "host": "host", "avx2": "x86-64-v3"}
"""What `--iree-llvmcpu-target-cpu` gets for each chip of the target `cpu`."""

MLIR_FILE = "input.mlir"
MODULE_FILE = "module.vmfb"

MISSING = "install iree-base-compiler and iree-base-runtime"

PACKAGES = ("iree-base-compiler", "iree-base-runtime")


class IreeVariant(Variant):
    """What both IREE baselines share."""

    is_baseline = True

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why this form cannot be built for the target."""
        name, _, chip = target.partition(":")
        if name != "cpu" or chip not in TARGET_CPUS:
            return f"this baseline is built by IREE's llvm-cpu, for cpu and cpu:avx2 only, not for {target}"
        if not installed():
            return MISSING
        if problem.is_packed:
            return "packed sequences are not an input of this form"
        if problem.model_width is not None:
            return "projections are not part of this baseline"
        if queries_without_keys(problem):
            return "IREE gives NaN for a query that sees no key"
        return None

    def payload(self, problem: AttentionProblem) -> str:
        """Return the MLIR text that IREE compiles."""
        raise NotImplementedError

    def operands(self, problem: AttentionProblem) -> list[str]:
        """Return the names of the payload's operands in order."""
        raise NotImplementedError

    def source(self, case: Case) -> str:
        """Return the MLIR text and the compiler's flags."""
        return f"// iree-compile {' '.join(_flags(case))}\n{self.payload(case.problem)}"

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Compile with iree-compile; raises `BuildError` with the first error that it reports."""
        source = self.source(case)
        (folder / MLIR_FILE).write_text(source, encoding="utf-8")
        started = time.perf_counter()
        module, code_bytes = compile_module(source, _flags(case))
        seconds = time.perf_counter() - started
        (folder / MODULE_FILE).write_bytes(module)
        return Artifact(
            case=case,
            key=key,
            executor="native",
            loader="harness.variants.baselines.iree_calls:load",
            figures=StaticFigures(code_bytes=code_bytes),
            stage_seconds={"iree-compile": seconds},
            stage_files={"source": MLIR_FILE, "iree-compile": MODULE_FILE},
            launch={
                "module": MODULE_FILE,
                "function": iree_payload.ENTRY,
                "operands": self.operands(case.problem),
                "threads": case.target_options.get("threads", 1),
            },
        )

    def tool_versions(self) -> dict[str, str]:
        """Return the versions of IREE's compiler and runtime."""
        return {package: importlib.metadata.version(package) for package in PACKAGES}


class Iree(IreeVariant):
    """IREE's attention op, which it tiles and vectorizes as online attention."""

    name = "iree"
    summary = "IREE's attention op, compiled by llvm-cpu with its default tiles"

    def payload(self, problem: AttentionProblem) -> str:
        """Return the attention op."""
        return iree_payload.attention_op(problem)

    def operands(self, problem: AttentionProblem) -> list[str]:
        """Return the attention op's operands."""
        return iree_payload.attention_op_operands(problem)


class IreeUnfused(IreeVariant):
    """Matmul, softmax and matmul as separate IREE dispatches, with the score matrix in memory."""

    name = "iree-unfused"
    summary = "matmul, softmax, matmul compiled by IREE's llvm-cpu, score matrix in memory"

    def payload(self, problem: AttentionProblem) -> str:
        """Return the three linalg ops."""
        return iree_payload.unfused(problem)

    def operands(self, problem: AttentionProblem) -> list[str]:
        """Return the operands of the three ops."""
        return iree_payload.unfused_operands(problem)


def installed() -> bool:
    """Return whether IREE's compiler is there, without importing it."""
    return importlib.util.find_spec("iree") is not None and (
        importlib.util.find_spec("iree.compiler") is not None
    )


def compile_module(source: str, flags: list[str]) -> tuple[bytes, int | None]:
    """Compile MLIR text to an IREE module; return it and the size of the machine code that it holds.

    Runs the program that the package holds instead of importing `iree.compiler`: its bindings and those of
    upstream MLIR bring libraries of the same name, and only one of them can be loaded into a process.
    """
    tools = tools_folder()
    with tempfile.TemporaryDirectory() as scratch:
        source_file, module_file = Path(scratch, "input.mlir"), Path(scratch, "module.vmfb")
        binaries = Path(scratch, "binaries")
        source_file.write_text(source, encoding="utf-8")
        command = [
            str(tools / "iree-compile"),
            str(source_file),
            "-o",
            str(module_file),
            "--iree-hal-target-backends=llvm-cpu",
            f"--iree-llvmcpu-embedded-linker-path={tools / 'iree-lld'}",
            f"--iree-hal-dump-executable-binaries-to={binaries}",
            *flags,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"iree-compile: {first_error(done.stderr, done.returncode)}")
        sizes = [path.stat().st_size for path in binaries.iterdir()] if binaries.is_dir() else []
        return module_file.read_bytes(), sum(sizes) or None


def tools_folder() -> Path:
    """Return the folder of iree-compile and iree-lld in the installed package, without importing it."""
    spec = importlib.util.find_spec("iree.compiler")
    if spec is None or not spec.submodule_search_locations:
        raise UnsupportedError(MISSING)
    return Path(spec.submodule_search_locations[0]) / "_mlir_libs"


def first_error(diagnostics: str, status: int) -> str:
    """Return the first error of iree-compile's diagnostics in one line, without its position in the input.

    A compiler that died without one is described by the first line it wrote and its exit status.
    """
    lines = [line.strip() for line in diagnostics.splitlines() if line.strip()]
    for line in lines:
        _, found, message = line.partition("error: ")
        if found:
            return message
    return f"{lines[0] if lines else 'no diagnostics'} (exit status {status})"


def _flags(case: Case) -> list[str]:
    chip = case.target.partition(":")[2]
    return [f"--iree-llvmcpu-target-cpu={TARGET_CPUS[chip]}"]
