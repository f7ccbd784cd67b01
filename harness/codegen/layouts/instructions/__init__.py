"""The matrix instructions of each vendor, a file a vendor; `registry` knows all by name."""
