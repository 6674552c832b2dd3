"""The graph the runtime holds: nodes and edges, pruning, feed and fetch rewriting, control flow, partitions.

Functions over plain data: no threads, no kernels.  Whoever shares a graph between threads guards it.
"""
