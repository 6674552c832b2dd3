"""Library functions: lowering, inlining and calls."""
