# The names of tf.train; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.training.optimizer import Optimizer as Optimizer
from tfnb.ops.training.optimizers import (
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from tfnb.ops.training.optimizers import AdadeltaOptimizer as AdadeltaOptimizer
from tfnb.ops.training.optimizers import AdagradOptimizer as AdagradOptimizer
from tfnb.ops.training.optimizers import AdamOptimizer as AdamOptimizer
from tfnb.ops.training.optimizers import FtrlOptimizer as FtrlOptimizer
from tfnb.ops.training.optimizers import GradientDescentOptimizer as GradientDescentOptimizer
from tfnb.ops.training.optimizers import MomentumOptimizer as MomentumOptimizer
from tfnb.ops.training.optimizers import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from tfnb.ops.training.optimizers import RMSPropOptimizer as RMSPropOptimizer
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
