"""``tensorflow.python.platform.googletest``."""

import unittest

from tfnb.as_tensorflow.public_api import tf

TestCase = unittest.TestCase
main = tf.test.main
