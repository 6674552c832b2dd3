"""``tf.contrib.hooks``: the hook that writes timelines."""

from tfnb.client.public.api import tf

ProfilerHook = tf.train.ProfilerHook
