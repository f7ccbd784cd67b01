#!/bin/sh
# Runs the recipes' CPU profiles and draws every figure of docs/gallery.md again; `make gallery` calls it.
set -eu
cd "$(dirname "$0")/.."
harness=${HARNESS:-harness}
runs=results/gallery
images=docs/images

# draw RUNS EXPERIMENT FIGURE IMAGE: a figure of the newest run of an experiment.
draw() {
    "$harness" report "$1/$2" --figure "$3" --format png --out "$runs/drawn"
    cp "$runs/drawn/$3.png" "$images/$4.png"
}

"$harness" run fa_forward --profile cpu --out $runs --plain
draw $runs fa_forward throughput fa_forward

"$harness" run fa_forward --profile cpu-published --out $runs/published --plain
draw $runs/published fa_forward throughput fa_forward_published

"$harness" run vector_distribution --profile cpu --out $runs --plain
draw $runs vector_distribution matrix vector_distribution_matrix
draw $runs vector_distribution throughput vector_distribution
"$harness" layout mma.sync.m16n8k16 --figure $images/layout_mma_sync.png

"$harness" run tile_and_fuse --profile cpu --out $runs --plain
draw $runs tile_and_fuse operations tile_and_fuse_operations
draw $runs tile_and_fuse speedup tile_and_fuse

"$harness" run roofline --profile cpu --out $runs --plain
draw $runs roofline roofline roofline

"$harness" check xegpu_fused --only seq=256 --out $runs --plain
draw $runs xegpu_fused matrix xegpu_fused

"$harness" run varlen_skew --profile cpu --out $runs --plain
draw $runs varlen_skew speedup varlen_skew
draw $runs varlen_skew operations varlen_skew_operations

"$harness" run split_head_ranks --profile cpu --out $runs --plain
draw $runs split_head_ranks speedup split_head_ranks
