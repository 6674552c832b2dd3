"""Matrices represented by less than all elements: ``tf.linalg.LinearOperator`` and subclasses."""
