"""Random problems from all that attention can be asked for, each with a variant that it is for."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue

LENGTHS = (1, 2, 3, 5, 7, 16, 17, 31, 32, 33, 64, 75, 100, 127, 128, 129, 200, 255, 256, 300)
"""Around multiples of tiles, and far from them."""
WIDTHS = (8, 16, 24, 32, 40, 64, 80, 96, 128, 192, 256)
AXES = ("bhqk", "bqk", "hqk", "hqk", "bqk", "qk", "bk", "q", "k", "h")
"""Along which masks and biases differ."""
PLAIN_VARIANTS = ("flash", "flash", "unfused", "naive")
"""For problems without projections and packed sequences; `flash` twice as often."""


@dataclass(frozen=True)
class Space:
    """What random problems are drawn from."""

    target: str
    dtypes: Sequence[str] = ("f32", "f16", "bf16")
    most_heads: int = 4
    longest: int = 300

    def cases(self, seed: int) -> Iterator[Case]:
        """Yield cases without end, the same ones for a seed."""
        draw = random.Random(seed)
        while True:
            fields = self._fields(draw)
            variant, problem = _variant(draw, fields), AttentionProblem.model_validate(fields)
            yield Case(
                problem=problem, variant=variant, target=self.target, params=_params(draw, variant, problem)
            )

    def _fields(self, draw: random.Random) -> dict[str, Any]:
        """Return the fields of a valid problem."""
        groups, kv_heads = draw.choice((1, 1, 2, 4)), draw.choice((1, 2))
        kv_heads = min(kv_heads, max(1, self.most_heads // groups))
        fields: dict[str, Any] = {
            "dtype": draw.choice(self.dtypes),
            "kv_heads": kv_heads,
            "heads": min(groups, self.most_heads) * kv_heads,
            "head_dim": draw.choice(WIDTHS),
            "scale": draw.choice((None, None, None, 0.0, -0.2, 0.5)),
            "causal": draw.random() < 0.5,
            "causal_alignment": draw.choice(("bottom-right", "top-left")),
            "softcap": draw.choice((None, None, None, 5.0, 30.0)),
            "sinks": draw.random() < 0.15,
            "log_sum_exp": draw.random() < 0.2,
        }
        if draw.random() < 0.3:
            fields["head_dim_v"] = draw.choice(WIDTHS)
        fields |= draw.choices((self._batch, self._packed, self._projected), weights=(8, 1, 1))[0](draw)
        if draw.random() < 0.3:
            fields["window"] = tuple(draw.choice((None, 0, 1, 16, 63, 100)) for _ in range(2))
        return fields

    def _length(self, draw: random.Random) -> int:
        return draw.choice([length for length in LENGTHS if length <= self.longest])

    def _batch(self, draw: random.Random) -> dict[str, Any]:
        """Return a batch of one length, or padded to it."""
        queries, keys, batch = self._length(draw), self._length(draw), draw.choice((1, 1, 2, 3))
        if draw.random() < 0.4:
            queries = keys
        lengths = tuple(draw.randint(0, keys) for _ in range(batch)) if draw.random() < 0.2 else None
        chances = {"mask": 0.2, "bias": 0.2}
        operands = {name: draw.random() < chance for name, chance in chances.items()}
        operands |= {f"{name}_axes": draw.choice(AXES) for name in chances}
        return {"batch": batch, "seq_q": queries, "seq_kv": keys, "kv_lengths": lengths, **operands}

    def _packed(self, draw: random.Random) -> dict[str, Any]:
        """Return packed sequences, the empty one and those of one token among them."""
        pairs = [(self._length(draw), self._length(draw)) for _ in range(draw.choice((1, 2, 4)))]
        pairs += draw.choice(([], [(0, 0)], [(0, 5)], [(5, 0)], [(1, 1)]))
        draw.shuffle(pairs)
        queries, keys = zip(*pairs, strict=True)
        return {"cu_seqlens_q": _cumulative(queries), "cu_seqlens_kv": _cumulative(keys)}

    def _projected(self, draw: random.Random) -> dict[str, Any]:
        """Return projections from tokens that queries and keys share."""
        width, length = draw.choice((5, 20, 32, 64, 100, 128)), self._length(draw)
        operands = {name: draw.random() < 0.2 for name in ("mask", "bias")}
        projects_output = draw.random() < 0.4
        return {
            "model_width": width,
            "output_projection": projects_output,
            "seq_q": length,
            "batch": draw.choice((1, 2)),
            **operands,
        }


def _variant(draw: random.Random, fields: dict[str, Any]) -> str:
    """Return a variant for such problems."""
    if "cu_seqlens_q" in fields:
        return "varlen"
    return "split-head" if "model_width" in fields else draw.choice(PLAIN_VARIANTS)


def _params(draw: random.Random, variant: str, problem: AttentionProblem) -> dict[str, ParameterValue]:
    """Return how heads are projected, and a number of ranks that they can be shared out among; of packed
    sequences whether keys lie in pages."""
    if variant == "varlen" and draw.random() < 0.4:
        return {"page_size": draw.choice((64, 128, 256))}
    if variant != "split-head":
        return {}
    ranks = draw.choice([ranks for ranks in (1, 1, 2, 4) if problem.heads % ranks == 0])
    return {"projections": draw.choice(("fused", "before")), "ranks": ranks}


def _cumulative(lengths: Sequence[int]) -> tuple[int, ...]:
    return tuple(sum(lengths[:count]) for count in range(len(lengths) + 1))
