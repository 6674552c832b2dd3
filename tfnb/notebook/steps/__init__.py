"""What a step did: the model of a running step, its tape, records of steps."""
