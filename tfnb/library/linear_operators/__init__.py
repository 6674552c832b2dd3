"""Matrices that are given by less than their elements: ``tf.linalg.LinearOperator`` and its kin."""
