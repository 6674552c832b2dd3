"""``tf.data``: how pipelines of datasets are built, and the iterators that go through them."""
