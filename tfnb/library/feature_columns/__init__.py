"""``tf.feature_column``: how the features of an example become numbers for a model."""
