"""A run of as many rows as asked for, written at once: what reports of long sweeps are measured with."""

import json
from pathlib import Path

from synthetic_results import example_manifest, make_result

from harness.results.run_folder import RunFolder

VARIANTS = ("unfused", "flash", "naive", "torch")


def write_large_run(root: Path, rows: int) -> Path:
    """Write a run of this many timed rows, of four variants at as many lengths as it takes."""
    run = RunFolder.create(root, "large", example_manifest("", "large"))
    templates = [
        json.loads(make_result(variant, baseline="unfused", time_s=1.0, speedup=1.5).model_dump_json())
        for variant in VARIANTS
    ]
    with (run.path / "results.jsonl").open("w") as file:
        for number in range(rows):
            length, which = divmod(number, len(VARIANTS))
            seq = 16 * (length + 1)
            changes = {"case": f"{number:012x}", "seq_q": seq, "seq_kv": seq, "time_s": seq * 1e-6}
            file.write(json.dumps(templates[which] | changes) + "\n")
    return run.path
