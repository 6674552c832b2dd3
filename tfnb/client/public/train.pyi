# The names of tf.train; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.training.adadelta import AdadeltaOptimizer as AdadeltaOptimizer
from tfnb.ops.training.adagrad import AdagradDAOptimizer as AdagradDAOptimizer
from tfnb.ops.training.adagrad import AdagradOptimizer as AdagradOptimizer
from tfnb.ops.training.adagrad import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from tfnb.ops.training.adam import AdamOptimizer as AdamOptimizer
from tfnb.ops.training.ftrl import FtrlOptimizer as FtrlOptimizer
from tfnb.ops.training.global_step import assert_global_step as assert_global_step
from tfnb.ops.training.global_step import create_global_step as create_global_step
from tfnb.ops.training.global_step import get_global_step as get_global_step
from tfnb.ops.training.global_step import get_or_create_global_step as get_or_create_global_step
from tfnb.ops.training.global_step import global_step as global_step
from tfnb.ops.training.gradient_descent import (
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from tfnb.ops.training.gradient_descent import GradientDescentOptimizer as GradientDescentOptimizer
from tfnb.ops.training.learning_rate_decay import (
    noisy_linear_cosine_decay as noisy_linear_cosine_decay,
)
from tfnb.ops.training.learning_rate_decay import cosine_decay as cosine_decay
from tfnb.ops.training.learning_rate_decay import cosine_decay_restarts as cosine_decay_restarts
from tfnb.ops.training.learning_rate_decay import exponential_decay as exponential_decay
from tfnb.ops.training.learning_rate_decay import inverse_time_decay as inverse_time_decay
from tfnb.ops.training.learning_rate_decay import linear_cosine_decay as linear_cosine_decay
from tfnb.ops.training.learning_rate_decay import natural_exp_decay as natural_exp_decay
from tfnb.ops.training.learning_rate_decay import piecewise_constant as piecewise_constant
from tfnb.ops.training.learning_rate_decay import piecewise_constant as piecewise_constant_decay
from tfnb.ops.training.learning_rate_decay import polynomial_decay as polynomial_decay
from tfnb.ops.training.momentum import MomentumOptimizer as MomentumOptimizer
from tfnb.ops.training.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from tfnb.ops.training.optimizer import Optimizer as Optimizer
from tfnb.ops.training.rmsprop import RMSPropOptimizer as RMSPropOptimizer
from tfnb.proto.cluster_pb2 import ClusterDef as ClusterDef
from tfnb.proto.cluster_pb2 import JobDef as JobDef
from tfnb.proto.example_pb2 import BytesList as BytesList
from tfnb.proto.example_pb2 import Example as Example
from tfnb.proto.example_pb2 import Feature as Feature
from tfnb.proto.example_pb2 import FeatureList as FeatureList
from tfnb.proto.example_pb2 import FeatureLists as FeatureLists
from tfnb.proto.example_pb2 import Features as Features
from tfnb.proto.example_pb2 import FloatList as FloatList
from tfnb.proto.example_pb2 import Int64List as Int64List
from tfnb.proto.example_pb2 import SequenceExample as SequenceExample
from tfnb.proto.meta_graph_pb2 import TensorInfo as TensorInfo
from tfnb.proto.queue_runner_pb2 import QueueRunnerDef as QueueRunnerDef
from tfnb.proto.saver_pb2 import SaverDef as SaverDef
from tfnb.proto.tensorflow_server_pb2 import ServerDef as ServerDef

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "ClusterDef",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "Int64List",
    "JobDef",
    "MomentumOptimizer",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunnerDef",
    "RMSPropOptimizer",
    "SaverDef",
    "SequenceExample",
    "ServerDef",
    "TensorInfo",
    "assert_global_step",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "inverse_time_decay",
    "linear_cosine_decay",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
]
