"""``tf.metrics``: measures of a model over many batches.

Each function makes local variables that count, and returns two tensors: the value so far, and an
update that counts one more batch and returns the value after it.

``streaming`` has the common parts, ``means`` the averages, ``counts`` true and false positives and
negatives, ``thresholds`` these counts at several thresholds with the area under the curve, ``at_k``
the measures of rankings.
"""
