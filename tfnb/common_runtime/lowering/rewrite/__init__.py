"""What an emitted function does differently from its nodes: clusters, sums, releases."""
