"""``tf.contrib.learn.datasets.mnist``: the four files of MNIST in a folder."""

from __future__ import annotations

from tfnb.as_tensorflow.stand_ins.mnist import DataSet as DataSet
from tfnb.as_tensorflow.stand_ins.mnist import load_mnist as load_mnist
from tfnb.as_tensorflow.stand_ins.mnist import read_data_sets as read_data_sets
