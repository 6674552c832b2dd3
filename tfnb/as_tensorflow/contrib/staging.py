"""``tf.contrib.staging``: buffers between steps."""

from tfnb.library.queues.staging_areas import StagingArea as StagingArea
