"""Programs that import TensorFlow 1 run on tfnb: ``import tensorflow as tf``."""
