"""The IPython shell: cells, threads that control steps, the growth of a graph by cell."""
