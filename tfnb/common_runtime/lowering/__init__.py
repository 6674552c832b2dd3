"""The fast path: a partition lowered to one Python function.

The reference executor defines the meaning; an emitted function must give the same values and
errors.
"""
