"""``tf.feature_column``: conversion of the features of an example to numbers for a model."""
