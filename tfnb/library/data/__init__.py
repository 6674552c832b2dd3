"""``tf.data``: construction of pipelines of datasets, and the iterators over them."""
