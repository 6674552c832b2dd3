"""``tf.profiler``: parameters, float operations, time and memory of a graph, summed in views."""
