"""Tensor-level rewrites: tile and fuse, consumer rewriting, and what makes both possible; target-free."""
