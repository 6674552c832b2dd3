"""Ragged tensors: ``tf.RaggedTensor``, ``tf.ragged``, and the functions that accept them."""
