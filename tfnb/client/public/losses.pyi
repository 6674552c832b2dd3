# The names of tf.losses; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.nn.losses import Reduction as Reduction
from tfnb.library.nn.losses import absolute_difference as absolute_difference
from tfnb.library.nn.losses import add_loss as add_loss
from tfnb.library.nn.losses import compute_weighted_loss as compute_weighted_loss
from tfnb.library.nn.losses import cosine_distance as cosine_distance
from tfnb.library.nn.losses import get_losses as get_losses
from tfnb.library.nn.losses import get_regularization_loss as get_regularization_loss
from tfnb.library.nn.losses import get_regularization_losses as get_regularization_losses
from tfnb.library.nn.losses import get_total_loss as get_total_loss
from tfnb.library.nn.losses import hinge_loss as hinge_loss
from tfnb.library.nn.losses import huber_loss as huber_loss
from tfnb.library.nn.losses import log_loss as log_loss
from tfnb.library.nn.losses import mean_pairwise_squared_error as mean_pairwise_squared_error
from tfnb.library.nn.losses import mean_squared_error as mean_squared_error
from tfnb.library.nn.losses import sigmoid_cross_entropy as sigmoid_cross_entropy
from tfnb.library.nn.losses import softmax_cross_entropy as softmax_cross_entropy
from tfnb.library.nn.losses import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy
