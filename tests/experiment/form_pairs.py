"""Pairs of forms that kernels treat specially, and which of them a variant supports and experiments cover.

A bug that needs two forms at once, such as sinks of packed sequences, passes every case that has one of them.

cd tests/experiment && python -m form_pairs     prints the pairs that no shipped case covers
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from harness import plugins
from harness.bench.building.support import own_variants
from harness.codegen.dialect.decomposition import LARGEST_FUSED_FACTOR, LOG2_E
from harness.experiment.case_settings import complete_case
from harness.experiment.experiment import load_experiment
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import HarnessError
from harness.variants.generated import GeneratedVariant
from harness.variants.tiling import Tiling

FOLDER = Path(__file__).parents[2] / "experiments"
CHIPS = {"cpu": "cpu:avx2", "cuda": "cuda:sm_80", "rocm": "rocm:gfx942", "xegpu": "xegpu:bmg"}
"""Chips that are asked for what is supported, by kind of machine.

On a processor tiles, and with them pairs, are those of its chip: this one's stand for all, so that they are
the same everywhere.
"""

LEAST_KEYS = 8
"""Keys that one query of a case sees at least, for its forms to count."""

ON_GPUS = ("flash", "varlen")
"""Variants whose pairs are to be covered on GPUs, too, where cases take long; others have their payloads."""


@dataclass(frozen=True)
class Cut:
    """A case, and how its problem is cut into tiles."""

    case: Case
    tiling: Tiling

    @property
    def problem(self) -> AttentionProblem:
        """The problem as it is asked for."""
        return self.case.problem

    @property
    def is_joined(self) -> bool:
        """Whether query heads that share K and V are computed as more queries of one head."""
        return self.tiling.problem.heads < self.tiling.original_problem.heads

    @property
    def has_several_steps(self) -> bool:
        """Whether a part of the keys has more than one tile."""
        return self.tiling.key_tiles > self.tiling.key_splits


Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Form:
    """Something about a case that kernels treat specially."""

    name: str
    has: Callable[[Cut], bool]
    ways: tuple[Fields, ...] = ({},)
    """Fields of a small problem that ask for it; one of them is enough."""
    params: Fields = field(default_factory=dict)
    """Parameters of a variant that ask for it."""


def _lengths(cut: Cut) -> list[tuple[int, int]]:
    return cut.problem.sequence_lengths()


def _hides(cut: Cut) -> tuple[bool, bool]:
    """Return whether a window hides keys on either side."""
    left, right = cut.problem.window or (None, None)
    return (
        left is not None and any(q > 0 and left < k - 1 for q, k in _lengths(cut)),
        right is not None and any(k > 0 and right < q - 1 for q, k in _lengths(cut)),
    )


def _is_scaled_before_others(cut: Cut) -> bool:
    """Whether operands or a cap change scaled scores: the scale does not become the exponent's then."""
    return cut.problem.softcap is not None or cut.problem.bias or cut.problem.mask


def _is_packed(cut: Cut) -> bool:
    return cut.problem.is_packed


def _is_decode(cut: Cut) -> bool:
    return not _is_packed(cut) and cut.problem.seq_q == 1 < cut.problem.seq_kv


def _few_rows(cut: Cut) -> bool:
    """Whether the queries of a group, which has several, are fewer than a tile."""
    p = cut.problem
    return not p.is_packed and p.group_size > 1 and 1 < p.seq_q <= FEW_QUERIES


SEVERAL_GROUPS = 320
"""Width of heads for which a processor adds up the products of one query in groups of vectors, in a loop."""
FEW_QUERIES = 4
"""Queries that are fewer than a tile of every target."""


def _parameters(cut: Cut) -> Iterable[str]:
    return plugins.variant(cut.case.variant).parameters.model_fields


def _split(cut: Cut) -> bool:
    return cut.tiling.key_splits > 1


def _axes(name: str, of_heads: bool, of_queries: bool) -> Callable[[Cut], bool]:
    def has(cut: Cut) -> bool:
        axes = getattr(cut.problem, f"{name}_axes")
        is_of_keys = getattr(cut.problem, name) and "k" in axes
        return is_of_keys and ("h" in axes, "q" in axes) == (of_heads, of_queries)

    return has


def _operand(name: str) -> Iterable[Form]:
    for of, axes in (
        ("keys", "k"),
        ("queries", "qk"),
        ("heads", "hk"),
        ("heads and queries", "hqk"),
    ):
        asked = {name: True, f"{name}_axes": axes}
        yield Form(f"{name} of {of}", _axes(name, "h" in axes, "q" in axes), (asked,))
    yield Form(
        f"{name} that is alike for all keys",
        lambda cut: getattr(cut.problem, name) and "k" not in getattr(cut.problem, f"{name}_axes"),
        tuple({name: True, f"{name}_axes": axes} for axes in ("hq", "q")),
    )
    yield Form(
        f"{name} of batch entries",
        lambda cut: (
            getattr(cut.problem, name)
            and "b" in getattr(cut.problem, f"{name}_axes")
            and cut.problem.batch > 1
        ),
        tuple({name: True, f"{name}_axes": axes, "batch": 2} for axes in ("bk", "bqk", "bhk", "bhqk")),
    )


LARGEST_FUSED_SCALE = LARGEST_FUSED_FACTOR / LOG2_E

GROUPED = {"heads": 4, "kv_heads": 2}
FORMS: tuple[Form, ...] = (
    *(
        Form(dtype, lambda cut, dtype=dtype: cut.problem.dtype == dtype, ({"dtype": dtype},))
        for dtype in ("f32", "f16", "bf16")
    ),
    Form(
        "causal",
        lambda cut: (
            cut.problem.causal
            and cut.problem.causal_alignment == "bottom-right"
            and any(q > 1 and k > 1 for q, k in _lengths(cut))
        ),
        ({"causal": True},),
    ),
    Form(
        "causal, top-left",
        lambda cut: (
            cut.problem.causal_alignment == "top-left" and any(q != k and k > 1 for q, k in _lengths(cut))
        ),
        tuple(
            {"causal": True, "causal_alignment": "top-left", **lengths} for lengths in ({}, {"seq_kv": 97})
        ),
    ),
    Form(
        "window to the left",
        lambda cut: _hides(cut) == (True, False),
        tuple({"window": (9, None), **lengths} for lengths in ({}, {"seq_kv": 97})),
    ),
    Form(
        "window to the right",
        lambda cut: _hides(cut) == (False, True),
        tuple({"window": (None, 1), **lengths} for lengths in ({}, {"seq_kv": 97})),
    ),
    Form(
        "window to both sides",
        lambda cut: _hides(cut) == (True, True),
        tuple({"window": (9, 1), **lengths} for lengths in ({}, {"seq_kv": 97})),
    ),
    Form(
        "softcap",
        lambda cut: cut.problem.softcap is not None,
        ({"softcap": 5.0},),
    ),
    Form(
        "scale beyond what exponents are fused with",
        lambda cut: cut.problem.scale > LARGEST_FUSED_SCALE and not _is_scaled_before_others(cut),
        ({"scale": 20.0},),
    ),
    Form(
        "negative scale",
        lambda cut: cut.problem.scale < 0 and not _is_scaled_before_others(cut),
        ({"scale": -0.2},),
    ),
    Form(
        "negative scale under a cap, a bias or a mask",
        lambda cut: cut.problem.scale < 0 and _is_scaled_before_others(cut),
        tuple({**change, "scale": -0.2} for change in ({"softcap": 5.0}, {"bias": True}, {"mask": True})),
    ),
    *_operand("mask"),
    *_operand("bias"),
    Form("sinks", lambda cut: cut.problem.sinks, ({"sinks": True},)),
    Form("log-sum-exp", lambda cut: cut.problem.log_sum_exp, ({"log_sum_exp": True},)),
    Form(
        "key lengths",
        lambda cut: any(0 < length < cut.problem.seq_kv for length in cut.problem.kv_lengths or ()),
        tuple({"batch": 2, "kv_lengths": (5, 40), **lengths} for lengths in ({}, {"seq_kv": 97})),
    ),
    Form("one query", _is_decode, ({"seq_q": 1, "seq_kv": 48}, {"seq_q": 1, "seq_kv": 300})),
    Form(
        "one query, grouped heads",
        lambda cut: _is_decode(cut) and cut.problem.group_size > 1,
        tuple({"seq_q": 1, "seq_kv": 48, **heads} for heads in (GROUPED, {"heads": 2, "kv_heads": 1})),
    ),
    Form(
        "one query of heads of several groups of vectors",
        lambda cut: _is_decode(cut) and not cut.is_joined and cut.problem.head_dim >= SEVERAL_GROUPS,
        ({"seq_q": 1, "seq_kv": 48, "head_dim": SEVERAL_GROUPS},),
    ),
    Form(
        "few queries of grouped heads, joined",
        lambda cut: _few_rows(cut) and cut.is_joined,
        ({"seq_q": 3, **GROUPED}, {"seq_q": 3, "heads": 2, "kv_heads": 1}),
    ),
    Form(
        "few queries of grouped heads, apart",
        lambda cut: _few_rows(cut) and not cut.is_joined,
        ({"seq_q": 3, **GROUPED}, {"seq_q": 3, "heads": 2, "kv_heads": 1}),
    ),
    Form(
        "many queries of grouped heads",
        lambda cut: cut.problem.group_size > 1 and not cut.is_joined and cut.tiling.tiles_queries,
        (GROUPED, {"heads": 2, "kv_heads": 1}),
    ),
    Form(
        "multi-query",
        lambda cut: cut.problem.heads > cut.problem.kv_heads == 1,
        ({"heads": 2, "kv_heads": 1},),
    ),
    Form("several heads of K and V", lambda cut: cut.problem.kv_heads > 1, ({"heads": 2}, GROUPED)),
    Form("several batch entries", lambda cut: cut.problem.batch > 1, ({"batch": 2},)),
    Form(
        "V of another width",
        lambda cut: cut.problem.head_dim_v != cut.problem.head_dim,
        ({"head_dim_v": 32}, {"head_dim_v": 128}),
    ),
    Form("wide heads", lambda cut: cut.problem.head_dim >= 128, ({"head_dim": 128},)),
    Form("heads of an odd width", lambda cut: cut.problem.head_dim % 16 > 0, ({"head_dim": 40},)),
    Form(
        "a ragged last tile of keys",
        lambda cut: cut.tiling.key_tiles > 1 and cut.tiling.keys % cut.tiling.key > 0,
        tuple({axis: keys} for axis in ("seq_kv", "seq_q") for keys in (97, 300)),
    ),
    Form(
        "a ragged last tile of queries",
        lambda cut: cut.tiling.tiles_queries and cut.tiling.queries % cut.tiling.query > 0,
        tuple({"seq_q": queries} for queries in (37, 133)),
    ),
    Form(
        "fewer queries than keys",
        lambda cut: any(q < k for q, k in _lengths(cut)),
        ({"seq_kv": 97}, {}),
    ),
    Form(
        "more queries than keys",
        lambda cut: any(q > k for q, k in _lengths(cut)),
        ({"seq_q": 133}, {"seq_q": 3, "seq_kv": 2}, {}),
    ),
    Form(
        "output projection",
        lambda cut: cut.problem.output_projection,
        ({"model_width": 48, "output_projection": True},),
    ),
    Form("division at the end", lambda cut: cut.case.params.get("division") == "final"),
    Form(
        "division in every step",
        lambda cut: cut.case.params.get("division") == "every-step" and cut.has_several_steps,
        ({}, {"seq_kv": 300}),
        params={"division": "every-step", "tile_kv": 32},
    ),
    Form("keys in one part", lambda cut: "kv_splits" in _parameters(cut) and not _split(cut)),
    Form("keys in several parts", _split, params={"kv_splits": 2, "tile_kv": 32}),
    Form("packed keys", lambda cut: _is_packed(cut) and cut.tiling.pages is None),
    Form("keys in pages", lambda cut: cut.tiling.pages is not None, params={"page_size": 64}),
    Form(
        "keys in pages of several tiles",
        lambda cut: cut.tiling.pages is not None and cut.tiling.pages.page_size > cut.tiling.key,
        params={"page_size": 64, "tile_kv": 16},
    ),
    Form("projected in the loop", lambda cut: cut.case.params.get("projections") == "fused"),
    Form(
        "projected before",
        lambda cut: cut.case.params.get("projections") == "before",
        params={"projections": "before"},
    ),
    Form("ranks", lambda cut: cut.case.params.get("ranks", 1) != 1, params={"ranks": 2}),
)

SMALL: Fields = {"heads": 1, "seq_q": 48, "head_dim": 64, "dtype": "f16"}
"""A problem that has no other form than its dtype."""

PACKED: tuple[Fields, ...] = (
    {"cu_seqlens_q": (0, 20, 37), "cu_seqlens_kv": (0, 20, 37)},
    {"cu_seqlens_q": (0, 20, 117), "cu_seqlens_kv": (0, 17, 97)},
    {"cu_seqlens_q": (0, 20, 117), "cu_seqlens_kv": (0, 30, 300)},
)


def cut(case: Case) -> Cut | None:
    """Return how a case is cut into tiles, None where its variant does not support it."""
    variant = plugins.variant(case.variant)
    if not isinstance(variant, GeneratedVariant) or variant.supports(case.problem, case.target):
        return None
    try:
        variant.chosen(case)
        return Cut(case, variant.tiling(case))
    except HarnessError:
        return None


def forms_of(case: Case) -> frozenset[str]:
    """Return the names of the forms that a case has.

    There are none where its variant does not support it, or all queries see few keys: too little is left of
    the forms then for a bug to show.
    """
    name = case.id
    if name not in _known_forms:
        found = cut(case) if _sees(case.problem, LEAST_KEYS) else None
        _known_forms[name] = frozenset(form.name for form in FORMS if found and form.has(found))
    return _known_forms[name]


_known_forms: dict[str, frozenset[str]] = {}
"""Forms of cases by their ids: many pairs, and several tests, ask for the same case."""


def _sees(problem: AttentionProblem, keys: int) -> bool:
    """Return whether a query sees so many keys, whatever the boolean mask hides besides."""
    for queries, length in problem.different_lengths():
        first, end = problem.visible_range(np.arange(queries), queries, length)
        if np.any(end - first >= keys):
            return True
    return False


Pair = tuple[str, str]


def pairs_of(case: Case) -> set[Pair]:
    """Return the pairs of forms that a case has, each in alphabetical order."""
    return set(combinations(sorted(forms_of(case)), 2))


def family(target: str) -> str:
    """Return the kind of machine that a target is."""
    return target.partition(":")[0]


def is_supported(first: Form, second: Form, variant: str, target: str) -> bool:
    """Return whether a small problem can have two forms."""
    wanted = {first.name, second.name}
    return any(wanted <= forms_of(case) for case in _asking(first, second, variant, target))


def _asking(first: Form, second: Form, variant: str, target: str) -> Iterable[Case]:
    """Yield cases that may have two forms."""
    needed = plugins.variant(variant).needed
    params = {**first.params, **second.params}
    if not params.keys() <= plugins.variant(variant).parameters.model_fields.keys():
        return
    bases = [{**SMALL, **needed}]
    if "cu_seqlens_q" in needed:
        bases = [{**SMALL, "seq_q": None, **packed} for packed in PACKED]
    for base, *ways in product(bases, first.ways, second.ways):
        one, other = ({**base, **way, **later} for way, later in (ways, ways[::-1]))
        for fields in (one,) if one == other else (one, other):
            try:
                yield complete_case(AttentionProblem(**fields), variant, target, params, {})
            except HarnessError:
                continue


def shipped_cases() -> list[Case]:
    """Return the cases of own variants in the experiments that check outputs and time nothing."""
    cases: dict[str, Case] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        experiment = load_experiment(path)
        if experiment.timing.enabled:
            continue
        for case in experiment.cases():
            if case.variant in own_variants():
                cases[case.id] = case
    return [on_a_known_chip(case) for case in cases.values()]


def on_a_known_chip(case: Case) -> Case:
    """Return a case with the processor's chip said."""
    return case.model_copy(update={"target": CHIPS["cpu"]}) if case.target == "cpu" else case


def covered(cases: Iterable[Case]) -> Mapping[tuple[str, str], set[Pair]]:
    """Return the pairs of forms that cases have, by variant and kind of machine."""
    found: dict[tuple[str, str], set[Pair]] = {}
    for case in cases:
        found.setdefault((case.variant, family(case.target)), set()).update(pairs_of(case))
    return found


def uncovered(cases: Iterable[Case]) -> Mapping[tuple[str, str], list[Pair]]:
    """Return the pairs that variants support and no case has, by variant and kind of machine."""
    return {
        (variant, kind): [
            (first.name, second.name)
            for first, second in combinations(FORMS, 2)
            if _named(first, second) not in pairs and is_supported(first, second, variant, CHIPS[kind])
        ]
        for (variant, kind), pairs in covered(cases).items()
        if kind == "cpu" or variant in ON_GPUS
    }


def _named(first: Form, second: Form) -> Pair:
    low, high = sorted((first.name, second.name))
    return low, high


if __name__ == "__main__":
    for (variant, kind), pairs in uncovered(shipped_cases()).items():
        print(f"{variant} on {kind}: {len(pairs)}")
        for pair in pairs:
            print("   " + " + ".join(pair))
