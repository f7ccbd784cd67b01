"""The `attn` dialect: structured operations that linalg lacks, so that attention can be tiled and fused."""
