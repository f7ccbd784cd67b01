"""harness: a research benchmark harness for attention code generation."""
