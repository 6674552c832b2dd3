# The names of tf.train; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.files.record_io import summary_iterator as summary_iterator
from tfnb.client.training.hooks import FeedFnHook as FeedFnHook
from tfnb.client.training.hooks import FinalOpsHook as FinalOpsHook
from tfnb.client.training.hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from tfnb.client.training.hooks import LoggingTensorHook as LoggingTensorHook
from tfnb.client.training.hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from tfnb.client.training.hooks import NanTensorHook as NanTensorHook
from tfnb.client.training.hooks import SecondOrStepTimer as SecondOrStepTimer
from tfnb.client.training.hooks import StopAtStepHook as StopAtStepHook
from tfnb.client.training.monitored_session import (
    MonitoredTrainingSession as MonitoredTrainingSession,
)
from tfnb.client.training.monitored_session import (
    SingularMonitoredSession as SingularMonitoredSession,
)
from tfnb.client.training.monitored_session import ChiefSessionCreator as ChiefSessionCreator
from tfnb.client.training.monitored_session import MonitoredSession as MonitoredSession
from tfnb.client.training.monitored_session import SessionCreator as SessionCreator
from tfnb.client.training.monitored_session import WorkerSessionCreator as WorkerSessionCreator
from tfnb.client.training.saving_hooks import CheckpointSaverHook as CheckpointSaverHook
from tfnb.client.training.saving_hooks import CheckpointSaverListener as CheckpointSaverListener
from tfnb.client.training.saving_hooks import ProfilerHook as ProfilerHook
from tfnb.client.training.saving_hooks import StepCounterHook as StepCounterHook
from tfnb.client.training.saving_hooks import SummarySaverHook as SummarySaverHook
from tfnb.client.training.scaffold import Scaffold as Scaffold
from tfnb.client.training.server import Server as Server
from tfnb.client.training.session_manager import SessionManager as SessionManager
from tfnb.client.training.session_run_hook import SessionRunArgs as SessionRunArgs
from tfnb.client.training.session_run_hook import SessionRunContext as SessionRunContext
from tfnb.client.training.session_run_hook import SessionRunHook as SessionRunHook
from tfnb.client.training.session_run_hook import SessionRunValues as SessionRunValues
from tfnb.client.training.supervisor import Supervisor as Supervisor
from tfnb.client.training.supervisor import basic_train_loop as basic_train_loop
from tfnb.core.cluster_spec import ClusterSpec as ClusterSpec
from tfnb.library.training.adadelta import AdadeltaOptimizer as AdadeltaOptimizer
from tfnb.library.training.adagrad import AdagradDAOptimizer as AdagradDAOptimizer
from tfnb.library.training.adagrad import AdagradOptimizer as AdagradOptimizer
from tfnb.library.training.adagrad import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from tfnb.library.training.adam import AdamOptimizer as AdamOptimizer
from tfnb.library.training.batching import batch as batch
from tfnb.library.training.batching import batch_join as batch_join
from tfnb.library.training.batching import maybe_batch as maybe_batch
from tfnb.library.training.batching import maybe_batch_join as maybe_batch_join
from tfnb.library.training.batching import maybe_shuffle_batch as maybe_shuffle_batch
from tfnb.library.training.batching import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from tfnb.library.training.batching import shuffle_batch as shuffle_batch
from tfnb.library.training.batching import shuffle_batch_join as shuffle_batch_join
from tfnb.library.training.checkpoint import Checkpoint as Checkpoint
from tfnb.library.training.checkpoint_manager import CheckpointManager as CheckpointManager
from tfnb.library.training.checkpoint_state import (
    generate_checkpoint_state_proto as generate_checkpoint_state_proto,
)
from tfnb.library.training.checkpoint_state import (
    update_checkpoint_state as update_checkpoint_state,
)
from tfnb.library.training.checkpoint_state import checkpoint_exists as checkpoint_exists
from tfnb.library.training.checkpoint_state import checkpoints_iterator as checkpoints_iterator
from tfnb.library.training.checkpoint_state import get_checkpoint_mtimes as get_checkpoint_mtimes
from tfnb.library.training.checkpoint_state import get_checkpoint_state as get_checkpoint_state
from tfnb.library.training.checkpoint_state import latest_checkpoint as latest_checkpoint
from tfnb.library.training.checkpoint_state import remove_checkpoint as remove_checkpoint
from tfnb.library.training.checkpoint_values import NewCheckpointReader as NewCheckpointReader
from tfnb.library.training.checkpoint_values import list_variables as list_variables
from tfnb.library.training.checkpoint_values import load_checkpoint as load_checkpoint
from tfnb.library.training.checkpoint_values import load_variable as load_variable
from tfnb.library.training.coordinator import Coordinator as Coordinator
from tfnb.library.training.coordinator import LooperThread as LooperThread
from tfnb.library.training.device_setter import replica_device_setter as replica_device_setter
from tfnb.library.training.ftrl import FtrlOptimizer as FtrlOptimizer
from tfnb.library.training.global_step import assert_global_step as assert_global_step
from tfnb.library.training.global_step import create_global_step as create_global_step
from tfnb.library.training.global_step import get_global_step as get_global_step
from tfnb.library.training.global_step import get_or_create_global_step as get_or_create_global_step
from tfnb.library.training.global_step import global_step as global_step
from tfnb.library.training.gradient_descent import (
    GradientDescentOptimizer as GradientDescentOptimizer,
)
from tfnb.library.training.gradient_descent import (
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from tfnb.library.training.graph_io import write_graph as write_graph
from tfnb.library.training.init_from_checkpoint import VocabInfo as VocabInfo
from tfnb.library.training.init_from_checkpoint import init_from_checkpoint as init_from_checkpoint
from tfnb.library.training.init_from_checkpoint import warm_start as warm_start
from tfnb.library.training.input import input_producer as input_producer
from tfnb.library.training.input import limit_epochs as limit_epochs
from tfnb.library.training.input import match_filenames_once as match_filenames_once
from tfnb.library.training.input import range_input_producer as range_input_producer
from tfnb.library.training.input import slice_input_producer as slice_input_producer
from tfnb.library.training.input import string_input_producer as string_input_producer
from tfnb.library.training.learning_rate_decay import (
    noisy_linear_cosine_decay as noisy_linear_cosine_decay,
)
from tfnb.library.training.learning_rate_decay import cosine_decay as cosine_decay
from tfnb.library.training.learning_rate_decay import cosine_decay_restarts as cosine_decay_restarts
from tfnb.library.training.learning_rate_decay import exponential_decay as exponential_decay
from tfnb.library.training.learning_rate_decay import inverse_time_decay as inverse_time_decay
from tfnb.library.training.learning_rate_decay import linear_cosine_decay as linear_cosine_decay
from tfnb.library.training.learning_rate_decay import natural_exp_decay as natural_exp_decay
from tfnb.library.training.learning_rate_decay import piecewise_constant as piecewise_constant
from tfnb.library.training.learning_rate_decay import piecewise_constant as piecewise_constant_decay
from tfnb.library.training.learning_rate_decay import polynomial_decay as polynomial_decay
from tfnb.library.training.meta_graph import export_meta_graph as export_meta_graph
from tfnb.library.training.meta_graph import import_meta_graph as import_meta_graph
from tfnb.library.training.momentum import MomentumOptimizer as MomentumOptimizer
from tfnb.library.training.moving_averages import (
    ExponentialMovingAverage as ExponentialMovingAverage,
)
from tfnb.library.training.optimizer import Optimizer as Optimizer
from tfnb.library.training.queue_runner import QueueRunner as QueueRunner
from tfnb.library.training.queue_runner import add_queue_runner as add_queue_runner
from tfnb.library.training.queue_runner import start_queue_runners as start_queue_runners
from tfnb.library.training.rmsprop import RMSPropOptimizer as RMSPropOptimizer
from tfnb.library.training.saver import Saver as Saver
from tfnb.library.training.sync_replicas_optimizer import (
    SyncReplicasOptimizer as SyncReplicasOptimizer,
)
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
    "Checkpoint",
    "CheckpointManager",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "ChiefSessionCreator",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FeedFnHook",
    "FinalOpsHook",
    "FloatList",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "Int64List",
    "JobDef",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "QueueRunnerDef",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "SequenceExample",
    "Server",
    "ServerDef",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "Supervisor",
    "SyncReplicasOptimizer",
    "TensorInfo",
    "VocabInfo",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "experimental",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "queue_runner",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
    "warm_start",
    "write_graph",
]
