"""Flags of a program: ``tf.flags`` and ``tf.app``."""
