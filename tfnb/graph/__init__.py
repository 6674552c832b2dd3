"""The graph the runtime holds: nodes, pruning, feeds and fetches, control flow, partitions.

Functions over plain data: no threads, no kernels.  Whoever shares a graph guards it.
"""
