"""The graph of the runtime: nodes, pruning, feeds and fetches, control flow, partitions.

Functions over plain data: no threads, no kernels.  Callers that share a graph must lock it.
"""
