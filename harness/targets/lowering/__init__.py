"""Lowering steps that several targets take."""
