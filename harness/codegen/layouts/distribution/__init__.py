"""Distribution of workgroup-level vector IR to the lanes of its warps, one rule a function."""
