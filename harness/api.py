"""The Python interface: `attention`, `build` and `run`; `load`, `tidy` and `draw` for what was measured.

Everything is also reachable as `harness.NAME`.  Errors name the argument that is wrong.
"""

import functools
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import plugins
from harness.artifact.artifact import Artifact, StaticMetrics
from harness.artifact.bound_call import Executable
from harness.artifact.checked_executable import CheckedExecutable
from harness.artifact.stage_names import stage_called
from harness.experiment.case_settings import complete_case
from harness.problem.arguments import CALL_FIELDS, ArrayLike, as_array, problem_of
from harness.problem.attention_problem import OPERANDS, AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.problem.signature import with_arguments
from harness.system.errors import HarnessError, InputError, UnsupportedError
from harness.system.printable import printable
from harness.system.validation import shown

if TYPE_CHECKING:
    import pandas

    from harness.reporting.runs import Runs

    Results = str | Path | pandas.DataFrame

CACHED_EXECUTABLES = 32
PLAIN = frozenset({bool, int, float, str, type(None)})
"""Types of what a call may say again: lengths of sequences are of one call."""

RUN_OF_FRAME = "harness.run"
"""Attribute of a table that says which folder it was loaded from."""


@dataclass(frozen=True, repr=False)
class BuiltArtifact:
    """A built case and the folder that holds its binary and the IR of every stage."""

    artifact: Artifact
    folder: Path

    def __repr__(self) -> str:
        """Return what was built and where it lies, `<BuiltArtifact flash · cpu · b1 … in FOLDER>`."""
        return f"<{type(self).__name__} {self.case.describe()} in {self.folder}>"

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
        """Return a stage's output as text; a stage may be called by another name, as `ptx` for `assembly`.

        Raises:
            InputError: there is no such stage, or its output cannot be read or is not text.
        """
        files = self.artifact.stage_files
        called = stage_called(name, files) if isinstance(name, str) else None
        if called is None:
            raise InputError(f"stage: found {shown(name)}, expected one of {', '.join(self.stages)}")
        try:
            return (self.folder / files[called]).read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"stage: {self.folder}: {name!r} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"stage: the output of {name!r} is binary") from error

    def executable(self) -> Executable:
        """Load the code into this process; the result can be called any number of times.

        The code runs in this process: what crashes there ends it.  `harness check` runs in workers.

        Raises:
            UnsupportedError: a toolchain refused to build it.
            InputError: the folder is gone, as after the cache was pruned.
            HarnessError: the artifact was built for a device that is not here, or files in the folder have
                changed.
        """
        if self.artifact.refusal is not None:
            raise UnsupportedError(f"{self.case.describe()}: {self.artifact.refusal}")
        if self.artifact.executor == "none":
            reason = self.artifact.why_not_run or "nothing here can run it"
            raise HarnessError(f"{self.case.describe()}: built, but {reason}")
        if not self.folder.exists():
            raise InputError(f"executable: {self.folder} is missing, pruned from the cache: build it again")
        name = f"{self.case.variant} on {self.case.target}"
        return CheckedExecutable(self.case.problem, self.artifact.load(self.folder), name)


def build(
    problem: AttentionProblem,
    *,
    variant: str = "flash",
    target: str = "cpu",
    params: Mapping[str, ParameterValue] | None = None,
    timeout_s: float | None = None,
    **target_options: ParameterValue,
) -> BuiltArtifact:
    """Build a problem in a worker process, or take it from the artifact cache.

    Args:
        problem: what to compute.
        variant: how its code is generated, see `harness list variants`.
        target: what for, see `harness list targets`; a chip may follow a colon, `cpu:avx2`.
        params: the variant's parameters, such as `tile_q`; what is left out has its default, or is chosen by
            the target.
        timeout_s: seconds that the build may take, 600 if not given.
        **target_options: the target's options; for the CPU `threads`, an int or `"all"`.

    Raises:
        InputError: unknown variant, target, parameter or option.
        UnsupportedError: the variant cannot do this problem; the message says why, and which variants can.
        BuildError: the compiler refused, crashed or took too long.
    """
    _require("problem", problem, AttentionProblem, "an AttentionProblem")
    _require("timeout_s", timeout_s, float | int | None, "a number of seconds")
    return _built(complete_case(problem, variant, target, _mapping(params), target_options), timeout_s)


@with_arguments(CALL_FIELDS, OPERANDS)
def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    variant: str = "flash",
    target: str = "cpu",
    executor: str | None = None,
    params: Mapping[str, ParameterValue] | None = None,
    threads: int | str | None = None,
    **fields: Any,
) -> Any:
    """Compute attention through a variant's generated code.

    The first call for a shape builds in a worker process; later ones reuse the loaded code, whatever the
    lengths of sequences.  Packed ones share it if their tokens, and their number, have the same next power of
    two.

    Sequences of several lengths lie behind each other in `q`, `k` and `v`, and `cu_seqlens_q` and
    `cu_seqlens_kv` say where each begins; the variant `varlen` is for them.  With
    `params={"page_size": 64}` its kernel reads K and V from pages of 64 tokens, which each call makes.

    Args:
        q: `[batch, heads, seq_q, head_dim]`; packed `[tokens, heads, head_dim]` with `cu_seqlens_*`.
            float32, float16 or bfloat16 (`ml_dtypes`).  A NumPy array, or a tensor on the CPU that gives its
            memory by DLPack, as PyTorch's do; so may be all arrays.
        k: `[batch, kv_heads, seq_kv, head_dim]`; `heads` is a multiple of `kv_heads`.
        v: `[batch, kv_heads, seq_kv, head_dim_v]`.
        variant: see `harness list variants`.
        target: see `harness list targets`.
        executor: `native`, `device`, `emulator` or `opencl`; by default whatever the artifact is for.
        params: the variant's parameters, as `build` takes them.
        threads: threads that compute, where the target has this option; an int or `"all"`.
        **fields: further arrays, and fields of the problem:

    Returns:
        A NumPy array `[batch, heads, seq_q, head_dim_v]` in the dtype of `q`; packed if the inputs are.  With
        `log_sum_exp=True` a tuple of it and of log Σ exp(score), float32, `[batch, heads, seq_q]` or
        `[heads, tokens]`.

    Raises:
        InputError: an argument is wrong; the message names it.
        UnsupportedError: the variant cannot do this; the message says why, and which variants can.
        OutOfMemoryError: the system does not give the memory for an output or a workspace.
        HarnessError: the code of a variant or target fails, whatever it raises, or gives other outputs than
            arrays of the problem's shapes and dtypes.
    """
    arrays = {"q": as_array("q", q), "k": as_array("k", k), "v": as_array("v", v)}
    operands = {
        name: None if (operand := fields.pop(name, None)) is None else as_array(name, operand)
        for name in OPERANDS
    }
    _require("executor", executor, str | None, "a name such as 'native'")
    kinds = {name: _kind(array) for name, array in (*arrays.items(), *operands.items())}
    options = {} if threads is None else {"threads": threads}
    asked = _Asked(kinds, fields, (variant, target, executor), _mapping(params), options)
    executable = _asked(asked) if asked.is_plain else _executable_of(asked)
    return executable(arrays["q"], arrays["k"], arrays["v"], **operands)


def run(
    experiment: str | Path,
    *,
    only: str | Sequence[str] | None = None,
    profile: str | None = None,
    params: str | None = None,
    out: str | Path = "results",
    resume: bool = False,
    timed: bool = True,
) -> "pandas.DataFrame":
    """Run an experiment and return its results table, one row per case.

    `KeyboardInterrupt`, of Ctrl-C or a signal's handler, ends the run, and `resume` goes on with it.  Any
    other exception that a handler raises meanwhile counts as a failure of the case at hand.

    Args:
        experiment: a TOML file, or the name of one that ships or lies in `experiments/`.
        only: filters such as `"variant=flash"`, one or several.
        profile: the experiment as its table `[profiles.NAME]` changes it.
        params: `"tuned"` takes parameters that `harness tune` has found, where the experiment sets none.
        out: folder for results; the run's own folder is made below it.
        resume: continue the experiment's newest unfinished run in `out`, else its newest.
        timed: whether to time what passed the check.

    Raises:
        InputError: an argument is of another kind, the experiment or a filter is wrong, or `out` cannot be
            written.
    """
    from harness.bench.running.progress import make_observer
    from harness.bench.running.runner import run_experiment
    from harness.experiment.experiment import named_experiment, with_params
    from harness.results.output_folder import ensure_writable_folder
    from harness.system.storage.cache_folder import cache_root

    filters = [only] if isinstance(only, str) else list(only or [])
    _require("experiment", experiment, str | os.PathLike, "the path of an experiment, or its name")
    _require("out", out, str | os.PathLike, "the path of a folder")
    _require("profile", profile, str | None, "a name such as 'cpu'")
    _require("resume", resume, bool, "True or False")
    _require("timed", timed, bool, "True or False")
    source = os.fspath(experiment)
    plan = with_params(named_experiment(source, profile), params, "params")
    summary = run_experiment(
        plan,
        plan.cases(filters),
        out=ensure_writable_folder(Path(out), "out").absolute(),
        resume=resume,
        timed=timed,
        observer=make_observer(plain=False),
        command=["harness.run", source],
        cache_root=cache_root(),
    )
    return load(summary.folder)


def load(path: str | Path) -> "pandas.DataFrame":
    """Return the results table of a run folder, or of the newest run in an experiment's folder.

    Which run that is, if there are several, and how many cases its table lacks is said on standard error.

    Raises:
        InputError: the path is neither, or what it holds cannot be read.
    """
    from harness.results.loading import choice_of, open_run

    _require("path", path, str | os.PathLike, "the path of a run's folder or an experiment's")
    folder = Path(path)
    run = open_run(folder)
    frame = run.table()
    for line in choice_of(folder, run, frame):
        print(f"harness: {printable(line)}", file=sys.stderr)
    frame.attrs[RUN_OF_FRAME] = str(run.path.absolute())
    return frame


def tidy(run: "Results") -> "pandas.DataFrame":
    """Return timings in long form, a row a sample: `seaborn.relplot(harness.tidy(run), x="seq_kv", …)`.

    `time_s`, `tflops` and `speedup`, over the baseline in the same round, are of the sample, whose place is
    `start` and `round`; the other columns are those of `load`, without what was made of all samples, and
    `label`, the variant with the parameters that tell its series apart.

    Args:
        run: a run's folder, an experiment's or an archive, or rows of a table that `load` has returned.

    Raises:
        InputError: it is neither, or what it holds cannot be read.
    """
    from harness.reporting.tidy import tidy_samples

    return tidy_samples(_runs_of(run))


def draw(figure: str, run: "Results", *, ax: Any = None, **settings: Any) -> Any:
    """Draw a figure of a run, on axes of your own or as a matplotlib figure with its caption.

    Args:
        figure: see `harness list figures`.
        run: as `tidy` takes it.
        ax: matplotlib's axes, or an array of them where the figure has several panels; they keep your style.
        **settings: as an experiment's `[figures]` has them, such as `where="head_dim == 64"`.

    Returns:
        `ax`, or the new figure.

    Raises:
        InputError: an argument is wrong, or there are not as many axes as panels.
        HarnessError: nothing in the run suits the figure; the message says why.
    """
    from matplotlib.axes import Axes

    from harness.reporting.drawing import draw_on

    _require("figure", figure, str, "a name, see harness list figures")
    axes = [] if ax is None else np.ravel(np.asarray(ax, dtype=object)).tolist()
    for one in axes:
        _require("ax", one, Axes, "matplotlib's axes, or an array of them")
    drawing = draw_on(_runs_of(run), figure, settings, axes)
    return drawing if ax is None else ax


def _runs_of(run: "Results") -> "Runs":
    """Return the run at a path, or that a table's rows are of, with these rows only."""
    import pandas

    from harness.reporting.runs import read_runs

    _require("run", run, str | os.PathLike | pandas.DataFrame, "a path, or a table of harness.load")
    if not isinstance(run, pandas.DataFrame):
        return read_runs([run])
    if RUN_OF_FRAME not in run.attrs or "case" not in run:
        raise InputError(
            "run: found a table that says no run and cases, expected rows of one that load returns"
        )
    runs = read_runs([run.attrs[RUN_OF_FRAME]])
    return replace(runs, frame=runs.frame[runs.frame["case"].isin(run["case"])])


def _require(argument: str, value: object, kind: Any, expected: str) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{argument}: found {shown(value)}, expected {expected}")


def _mapping(params: Mapping[str, ParameterValue] | None) -> Mapping[str, ParameterValue]:
    _require("params", params, Mapping | None, "a dict of the variant's parameters")
    return params or {}


@dataclass(frozen=True)
class _Choice:
    """What `attention` is asked for; equal for all calls that one build serves."""

    case: Case
    executor: str | None

    def __hash__(self) -> int:
        return hash((self.case.problem, self.case.variant, self.case.target, self.executor))


def _kind(array: np.ndarray | None) -> tuple[tuple[int, ...], np.dtype] | None:
    return None if array is None else (array.shape, array.dtype)


class _Asked:
    """What a call of `attention` says but for what is in its arrays; equal for calls that say the same."""

    def __init__(
        self,
        kinds: Mapping[str, tuple[tuple[int, ...], np.dtype] | None],
        fields: Mapping[str, Any],
        names: tuple[str, str, str | None],
        params: Mapping[str, ParameterValue],
        options: Mapping[str, ParameterValue],
    ) -> None:
        self.kinds = kinds
        self.tables = (fields, params, options)
        self.names = names
        said = [item for table in (*self.tables, dict(enumerate(names))) for item in table.items()]
        types = [type(value) for _, value in said]
        self.is_plain = PLAIN.issuperset(types) and "all" not in options.values()
        self._key = (*kinds.items(), *said, *types, *map(len, self.tables)) if self.is_plain else ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _executable_of(asked: _Asked) -> Executable:
    """Return the code that a call is for, all that it says checked."""
    arrays = {
        name: None if kind is None else np.broadcast_to(np.empty((), kind[1]), kind[0])
        for name, kind in asked.kinds.items()
    }
    inputs = {name: array for name in "qkv" if (array := arrays.pop(name)) is not None}
    fields, params, options = asked.tables
    variant, target, executor = asked.names
    problem = problem_of(inputs, arrays, fields)
    return _executable(complete_case(problem, variant, target, params, options), executor)


_asked = functools.lru_cache(maxsize=CACHED_EXECUTABLES)(_executable_of)
"""Of calls that say the same again, nothing is checked again but their arrays."""


def _executable(case: Case, executor: str | None) -> Executable:
    """Return the code for a case, loaded once for all lengths that it serves."""
    with plugins.asked("variant", case.variant, "which lengths are data (with_room)"):
        served = plugins.variant(case.variant).with_room(case)
    executable = _loaded(_Choice(served, executor))
    return executable if served == case else executable.of_lengths(case.problem)


def _built(case: Case, timeout_s: float | None = None) -> BuiltArtifact:
    """Build a case; where its variant cannot, say which others can."""
    from harness.bench.building import case_build
    from harness.bench.building.support import alternatives

    try:
        artifact, folder = case_build.build(case, timeout_s=timeout_s or case_build.DEFAULT_BUILD_TIMEOUT_S)
    except UnsupportedError as error:
        others = ", ".join(alternatives(case))
        raise UnsupportedError(f"{error}; variants that can: {others}" if others else str(error)) from error
    return BuiltArtifact(artifact, folder)


@functools.lru_cache(maxsize=CACHED_EXECUTABLES)
def _loaded(choice: _Choice) -> Executable:
    from harness.targets.executors import with_executor

    built = _built(choice.case)
    if choice.executor is not None:
        built = replace(built, artifact=with_executor(built.artifact, choice.executor))
    return built.executable()
