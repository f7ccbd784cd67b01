"""A run of as many rows as asked for, written at once: what reports of long sweeps are measured with."""

import json
from pathlib import Path

from synthetic_results import example_manifest, make_result

from harness.results.run_folder import RunFolder

VARIANTS = ("unfused", "flash", "naive", "torch")
HEAD_DIMS = (64, 128)
MASKS = ("full", "causal")
TILES = (16, 32, 64, 128)


def write_large_run(root: Path, rows: int, slowdown: float = 1.0) -> Path:
    """Write a run of this many timed rows and return its folder.

    Four variants, `flash` with four tiles, two head dims and two masks, at as many lengths as it takes; all
    times are multiplied by `slowdown`.
    """
    source = 'variants = ["unfused", "flash", "naive", "torch"]\n'
    run = RunFolder.create(root, "large", example_manifest(source, "large"))
    written = 0
    with (run.path / "results.jsonl").open("w") as file:
        while written < rows:
            variant, tile, head_dim, mask, seq = _place(written)
            row = _template(variant, tile, head_dim, mask)
            time_s = slowdown * seq * 1e-6 * (1 + written % 97 / 100)
            row |= {
                "case": f"{written:012x}",
                "key": f"{written * 2654435761 % 2**64:064x}",
                "run": run.run,
                "seq_q": seq,
                "seq_kv": seq,
                "time_s": time_s,
                "time_low_s": time_s * 0.99,
                "time_high_s": time_s * 1.01,
                "tflops": 0.1 + written % 89 / 1000,
                "speedup": 1 + written % 83 / 100,
                "noise": written % 79 / 10000,
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            written += 1
    return run.path


def _place(number: int) -> tuple[str, int | None, int, str, int]:
    """Return variant, tile, head dim, mask and length of a row by its number."""
    series = [("unfused", None), ("naive", None), ("torch", None), *(("flash", tile) for tile in TILES)]
    number, which = divmod(number, len(series))
    number, head_dim = divmod(number, len(HEAD_DIMS))
    length, mask = divmod(number, len(MASKS))
    return *series[which], HEAD_DIMS[head_dim], MASKS[mask], 16 * (length + 1)


_templates: dict[tuple[object, ...], dict[str, object]] = {}


def _template(*place: object) -> dict[str, object]:
    """Return a row with all that does not change with the length."""
    if place not in _templates:
        variant, tile, head_dim, mask = place
        result = make_result(
            variant,  # type: ignore[arg-type]
            head_dim=head_dim,
            mask=mask,
            params={"tile_kv": tile} if tile else {},
            baseline="unfused",
            time_s=1.0,
            error_ratio=0.3,
            stage_s={"tiled": 0.01, "lanes": 0.2, "llvm": 0.1},
            busy=False,
            fraction_of_peak=0.4,
        )
        _templates[place] = json.loads(result.model_dump_json())
    return dict(_templates[place])
