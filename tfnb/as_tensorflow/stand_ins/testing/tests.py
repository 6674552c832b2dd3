"""``tensorflow.python.platform.googletest``."""

import unittest

from tfnb.client.public.api import tf

TestCase = unittest.TestCase
main = tf.test.main
