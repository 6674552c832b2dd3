"""Records of steps: the model of a running step, its tape, recorded steps."""
