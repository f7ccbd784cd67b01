"""The Python interface: `attention`, `build`, `run` and `load`.

Everything is also reachable as `harness.NAME`.  Errors name the argument that is wrong.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.artifact.artifact import Artifact, Executable, StaticMetrics
from harness.errors import HarnessError, InputError, UnsupportedError
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.problem.dtypes import dtype_name

if TYPE_CHECKING:
    import pandas

CACHED_EXECUTABLES = 32
"""Executables that `attention` keeps loaded."""


@dataclass(frozen=True)
class BuiltArtifact:
    """A built case and the folder that holds its binary and the IR of every stage."""

    artifact: Artifact
    folder: Path

    @property
    def case(self) -> Case:
        """What was built."""
        return self.artifact.case

    @property
    def metrics(self) -> StaticMetrics:
        """What is known of the build without running it."""
        return self.artifact.metrics

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages whose output was kept, in order."""
        return tuple(self.artifact.stage_files)

    def stage(self, name: str) -> str:
        """Return a stage's output as text.

        Raises:
            InputError: there is no such stage, or its output is not text.
        """
        if name not in self.artifact.stage_files:
            raise InputError(f"stage: found {name!r}, expected one of {', '.join(self.stages)}")
        try:
            return (self.folder / self.artifact.stage_files[name]).read_text()
        except UnicodeDecodeError as error:
            raise InputError(f"stage: the output of {name!r} is binary") from error

    def executable(self) -> Executable:
        """Load the code into this process; the result can be called any number of times.

        The code runs in this process: what crashes there ends it.  `harness check` runs in workers.

        Raises:
            UnsupportedError: a toolchain refused to build it.
            HarnessError: the artifact was built for a device that is not here.
        """
        if self.artifact.refusal is not None:
            raise UnsupportedError(f"{self.case.describe()}: {self.artifact.refusal}")
        if self.artifact.executor == "none":
            reason = self.artifact.why_not_run or "nothing here can run it"
            raise HarnessError(f"{self.case.describe()}: built, but {reason}")
        return self.artifact.load(self.folder)


def build(
    problem: AttentionProblem,
    *,
    variant: str = "flash",
    target: str = "cpu",
    params: dict[str, ParameterValue] | None = None,
    **target_options: ParameterValue,
) -> BuiltArtifact:
    """Build a problem in a worker process, or take it from the artifact cache.

    Args:
        problem: what to compute.
        variant: how its code is generated, see `harness list variants`.
        target: what for, see `harness list targets`; a chip may follow a colon, `cpu:avx2`.
        params: the variant's parameters, such as `tile_q`; what is left out has its default, or is chosen by
            the target.
        **target_options: the target's options; for the CPU `threads`, an int or `"all"`.

    Raises:
        InputError: unknown variant, target, parameter or option.
        UnsupportedError: the variant cannot do this problem; the message says why.
        BuildError: the compiler refused, crashed or took too long.
    """
    from harness.building import case_build
    from harness.experiment.defaults import complete_case

    case = complete_case(problem, variant, target, params or {}, target_options)
    artifact, folder = case_build.build(case)
    return BuiltArtifact(artifact, folder)


def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    *,
    variant: str = "flash",
    target: str = "cpu",
    executor: str | None = None,
    causal: bool = False,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    window: tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    kv_lengths: Sequence[int] | None = None,
    cu_seqlens_q: Sequence[int] | None = None,
    cu_seqlens_kv: Sequence[int] | None = None,
    params: dict[str, ParameterValue] | None = None,
) -> np.ndarray:
    """Compute attention through a variant's generated code.

    The first call for a shape builds in a worker process; later ones reuse the loaded code.

    Args:
        q: `[batch, heads, seq_q, head_dim]`; packed `[tokens, heads, head_dim]` with `cu_seqlens_*`.
            float32, float16 or bfloat16 (`ml_dtypes`).
        k: `[batch, kv_heads, seq_kv, head_dim]`; `heads` is a multiple of `kv_heads`.
        v: `[batch, kv_heads, seq_kv, head_dim_v]`.
        variant: see `harness list variants`.
        target: see `harness list targets`.
        executor: `native`, `device` or `emulator`; by default whatever the artifact is for.
        causal: query i sees keys j ≤ i + seq_kv − seq_q (bottom-right alignment).
        mask: boolean, true where visible; broadcasts to `[batch, heads, seq_q, seq_kv]`.
        bias: added to the scaled scores; broadcasts likewise.
        window: (left, right) keys around the diagonal; None is unlimited.
        softcap: scores become `softcap · tanh(score / softcap)`.
        scale: multiplies Q·Kᵀ; by default 1/√head_dim.
        kv_lengths: valid keys of each batch entry.
        cu_seqlens_q: cumulative lengths of packed queries.
        cu_seqlens_kv: cumulative lengths of packed keys.
        params: the variant's parameters, as `build` takes them.

    Returns:
        `[batch, heads, seq_q, head_dim_v]` in the dtype of `q`; packed if the inputs are.

    Raises:
        InputError: an argument is wrong; the message names it.
        UnsupportedError: the variant cannot do this; the message says why.
    """
    problem = _problem_of(
        q,
        k,
        v,
        {
            "causal": causal,
            "mask": mask is not None,
            "bias": bias is not None,
            "window": window,
            "softcap": softcap,
            "scale": scale,
            "kv_lengths": None if kv_lengths is None else tuple(int(length) for length in kv_lengths),
            "cu_seqlens_q": cu_seqlens_q,
            "cu_seqlens_kv": cu_seqlens_kv,
        },
    )
    chosen = tuple(sorted((params or {}).items()))
    return _loaded(problem, variant, target, executor, chosen)(q, k, v, mask=mask, bias=bias)


def run(
    experiment: str | Path,
    *,
    only: Sequence[str] = (),
    out: str | Path = "results",
    resume: bool = False,
    timed: bool = True,
) -> "pandas.DataFrame":
    """Run an experiment and return its results table, one row per case.

    Args:
        experiment: a TOML file, or the name of one in `experiments/`.
        only: filters such as `"variant=flash"`.
        out: folder for results; the run's own folder is made below it.
        resume: continue the experiment's newest unfinished run in `out`, else its newest.
        timed: whether to time what passed the check.
    """
    from harness.experiment.experiment import load_experiment
    from harness.experiment.shipped import find_experiment
    from harness.results.output_folder import ensure_writable_folder
    from harness.running.progress import make_observer
    from harness.running.runner import run_experiment

    plan = load_experiment(find_experiment(str(experiment)))
    cases = plan.cases(only)
    ensure_writable_folder(Path(out), "out")
    summary = run_experiment(
        plan,
        cases,
        out=Path(out),
        resume=resume,
        timed=timed,
        observer=make_observer(plain=False),
        command=["harness.run", str(experiment)],
    )
    return load(summary.folder)


def load(path: str | Path) -> "pandas.DataFrame":
    """Return the results table of a run folder, or of the newest run in an experiment's folder."""
    from harness.results.run_folder import load as load_results

    return load_results(path)


@functools.lru_cache(maxsize=CACHED_EXECUTABLES)
def _loaded(
    problem: AttentionProblem,
    variant: str,
    target: str,
    executor: str | None,
    params: tuple[tuple[str, ParameterValue], ...],
) -> Executable:
    from harness.targets.executors import with_executor

    built = build(problem, variant=variant, target=target, params=dict(params))
    if executor is not None:
        built = BuiltArtifact(with_executor(built.artifact, executor), built.folder)
    return built.executable()


def _problem_of(q: np.ndarray, k: np.ndarray, v: np.ndarray, options: dict[str, Any]) -> AttentionProblem:
    """Read the problem off the arrays, with errors that name the argument."""
    packed = options["cu_seqlens_q"] is not None
    rank = 3 if packed else 4
    layout = "[tokens, heads, head_dim]" if packed else "[batch, heads, seq, head_dim]"
    for name, array in (("q", q), ("k", k), ("v", v)):
        if not isinstance(array, np.ndarray):
            raise InputError(f"{name}: found {type(array).__name__}, expected a NumPy array")
        if array.ndim != rank:
            raise InputError(f"{name}: found shape {list(array.shape)}, expected {layout}")
        if array.dtype != q.dtype:
            raise InputError(f"{name}: found dtype {array.dtype}, expected {q.dtype} as q has")
    sizes: dict[str, Any] = {
        "heads": q.shape[-3] if not packed else q.shape[1],
        "kv_heads": k.shape[-3] if not packed else k.shape[1],
        "head_dim": q.shape[-1],
        "head_dim_v": v.shape[-1],
    }
    if not packed:
        sizes |= {"batch": q.shape[0], "seq_q": q.shape[2], "seq_kv": k.shape[2]}
    try:
        dtype = dtype_name(q.dtype)
    except InputError as error:
        raise InputError(f"q: {error}") from error
    problem = AttentionProblem(**sizes, **options, dtype=dtype)
    for name, array, shape in (
        ("q", q, problem.q_shape),
        ("k", k, problem.k_shape),
        ("v", v, problem.v_shape),
    ):
        if array.shape != shape:
            raise InputError(f"{name}: found shape {list(array.shape)}, expected {list(shape)}")
    return problem
