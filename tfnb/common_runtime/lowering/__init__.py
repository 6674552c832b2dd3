"""The fast path: a partition lowered to one Python function.

The reference executor stays the meaning; what is lowered here must give the same values and errors.
"""
