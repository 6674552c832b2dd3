"""``tf.metrics``: measures of a model over many batches.

Each function makes local variables that count, and gives two tensors: the value so far, and an
update that counts one more batch and gives the value after it.

``streaming`` has what all share, ``means`` the averages, ``counts`` true and false positives and
negatives, ``thresholds`` the same at several thresholds with the area under the curve, ``at_k`` the
measures of rankings.
"""
