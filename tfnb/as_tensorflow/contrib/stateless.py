"""``tf.contrib.stateless``: what became ``tf.random.stateless_uniform`` and others."""

from __future__ import annotations

from tfnb.client.public.api import tf

stateless_random_uniform = tf.random.stateless_uniform
stateless_random_normal = tf.random.stateless_normal
stateless_truncated_normal = tf.random.stateless_truncated_normal
stateless_multinomial = tf.random.stateless_multinomial
