"""The forms of attention by name: one problem each, small, that asks for the form and for little else."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from harness.problem.attention_problem import SIZES, AttentionProblem

PLAIN: Mapping[str, Any] = MappingProxyType(
    {"batch": 2, "heads": 4, "seq_q": 256, "seq_kv": 256, "head_dim": 64, "dtype": "f16"}
)
"""What a form changes: half precision, which matrix instructions of all GPUs take."""

PACKED: Mapping[str, Any] = MappingProxyType(
    {"cu_seqlens_q": (0, 100, 256), "cu_seqlens_kv": (0, 100, 256), "seq_q": None, "seq_kv": None}
)
"""Two sequences without padding."""


@dataclass(frozen=True)
class Form:
    """A way in which problems of attention differ."""

    name: str
    fields: Mapping[str, Any]

    def problem(self, needed: Mapping[str, Any] = MappingProxyType({})) -> AttentionProblem:
        """Return the problem of the form; raises `ValidationError` where `needed` contradicts it."""
        return AttentionProblem.model_validate({**PLAIN, **needed, **self.fields})

    @cached_property
    def traits(self) -> Mapping[str, Hashable]:
        """What makes the form: the traits that its fields name, and in which it differs from `PLAIN`."""
        plain, own = _traits(AttentionProblem(**PLAIN)), _traits(self.problem())
        return {name: own[name] for name in own if name in self.fields or own[name] != plain[name]}


FORMS = (
    Form("full", {"causal": False, "window": None, "mask": False, "kv_lengths": None}),
    Form("causal", {"causal": True}),
    Form("causal, fewer queries than keys", {"causal": True, "seq_q": 128}),
    Form("causal, top-left", {"causal": True, "causal_alignment": "top-left", "seq_q": 128}),
    Form("causal, more queries than keys", {"causal": True, "seq_kv": 128}),
    Form("ragged lengths", {"causal": True, "seq_q": 250, "seq_kv": 333}),
    Form("window", {"window": (64, 32)}),
    Form("window, causal", {"window": (64, None), "causal": True}),
    Form("boolean mask", {"mask": True}),
    Form("additive bias", {"bias": True}),
    Form("mask of each head", {"mask": True, "mask_axes": "bhqk"}),
    Form("bias of each key", {"bias": True, "bias_axes": "bk"}),
    Form("sinks", {"sinks": True}),
    Form("log-sum-exp", {"log_sum_exp": True}),
    Form("mask, log-sum-exp", {"mask": True, "log_sum_exp": True}),
    Form("softcap", {"softcap": 30.0}),
    Form(
        "mask, bias, window, softcap",
        {"mask": True, "bias": True, "window": (64, None), "causal": True, "softcap": 30.0},
    ),
    Form("scale 0", {"scale": 0.0}),
    Form("negative scale", {"scale": -0.25}),
    Form("grouped heads", {"heads": 8, "kv_heads": 2}),
    Form("multi-query", {"kv_heads": 1}),
    Form("head_dim_v ≠ head_dim", {"head_dim": 128, "head_dim_v": 64}),
    Form("head_dim 8", {"head_dim": 8}),
    Form("head_dim 80", {"head_dim": 80}),
    Form("head_dim 256", {"head_dim": 256}),
    Form("decode", {"seq_q": 1, "seq_kv": 1024}),
    Form("decode, grouped heads", {"seq_q": 1, "seq_kv": 1024, "kv_heads": 1}),
    Form("few keys", {"seq_q": 5, "seq_kv": 5}),
    Form("key lengths", {"kv_lengths": (256, 100)}),
    Form("key lengths, causal", {"kv_lengths": (256, 100), "causal": True}),
    Form("packed sequences", PACKED),
    Form("packed sequences, causal", {**PACKED, "causal": True}),
    Form("projections", {"model_width": 128}),
    Form("output projection", {"model_width": 128, "output_projection": True}),
    Form("f32", {"dtype": "f32"}),
    Form("bf16", {"dtype": "bf16"}),
)

SMALLEST_TILE = 16
"""Keys: fewer are few, and a number of keys that it does not divide is ragged."""


def forms_of(problem: AttentionProblem) -> list[str]:
    """Return the names of the forms that a problem has, whatever else it has and however large it is."""
    own = _traits(problem).items()
    return [form.name for form in FORMS if form.traits.items() <= own]


def _traits(problem: AttentionProblem) -> Mapping[str, Hashable]:
    """Return what kernels may treat specially about a problem, by name, whatever its sizes are."""
    fields = (name for name in AttentionProblem.model_fields if name not in SIZES)
    own_traits = {name: _trait(name, getattr(problem, name)) for name in fields}
    shares_heads = problem.kv_heads < problem.heads
    return own_traits | {
        "head of K and V": "one" if shares_heads and problem.kv_heads == 1 else shares_heads,
        "width": _width(problem.head_dim),
        "V as wide": problem.head_dim_v == problem.head_dim,
        "one query": problem.seq_q == 1,
        "few keys": problem.seq_kv < SMALLEST_TILE,
        "ragged": problem.seq_kv % SMALLEST_TILE > 0 and not problem.is_packed,
        "more keys": problem.seq_kv > problem.seq_q,
        "more queries": problem.seq_q > problem.seq_kv,
    }


def _trait(name: str, value: Any) -> Hashable:
    if name.endswith("_axes"):
        return tuple(axis in value for axis in "hqk")
    if name == "scale":
        return float(value > 0) - float(value < 0)
    if name == "window":
        return value is not None and tuple(side is not None for side in value)
    return value if isinstance(value, bool | str) else value is not None


def _width(head_dim: int) -> str:
    """Return which kind of width of heads a number is: kernels pad some, and tile some otherwise."""
    if head_dim < 16 or head_dim > 128:
        return "narrow" if head_dim < 16 else "wide"
    return "usual" if head_dim & (head_dim - 1) == 0 else "odd"
