"""Device code in the LLVM dialect, changed so that it runs on the CPU and is checked while it does."""
