"""Triton as a baseline: FlashAttention-2 in its language, compiled without a device."""
