"""``tf.contrib.tensorboard``: its plugin ``projector``."""

from __future__ import annotations

from tfnb.as_tensorflow.contrib import projector as projector
from tfnb.as_tensorflow.contrib.projector import ProjectorConfig as ProjectorConfig
from tfnb.as_tensorflow.contrib.projector import visualize_embeddings as visualize_embeddings
