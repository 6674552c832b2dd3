"""The names of ``tf.estimator`` that ``tf.train`` has, too."""

from __future__ import annotations

from tfnb.client.training.hooks import FeedFnHook as FeedFnHook
from tfnb.client.training.hooks import FinalOpsHook as FinalOpsHook
from tfnb.client.training.hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from tfnb.client.training.hooks import LoggingTensorHook as LoggingTensorHook
from tfnb.client.training.hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from tfnb.client.training.hooks import NanTensorHook as NanTensorHook
from tfnb.client.training.hooks import SecondOrStepTimer as SecondOrStepTimer
from tfnb.client.training.hooks import StopAtStepHook as StopAtStepHook
from tfnb.client.training.saving_hooks import CheckpointSaverHook as CheckpointSaverHook
from tfnb.client.training.saving_hooks import CheckpointSaverListener as CheckpointSaverListener
from tfnb.client.training.saving_hooks import ProfilerHook as ProfilerHook
from tfnb.client.training.saving_hooks import StepCounterHook as StepCounterHook
from tfnb.client.training.saving_hooks import SummarySaverHook as SummarySaverHook
from tfnb.client.training.session_run_hook import SessionRunArgs as SessionRunArgs
from tfnb.client.training.session_run_hook import SessionRunContext as SessionRunContext
from tfnb.client.training.session_run_hook import SessionRunHook as SessionRunHook
from tfnb.client.training.session_run_hook import SessionRunValues as SessionRunValues

EXPORTS = {
    "estimator": [
        "CheckpointSaverHook", "CheckpointSaverListener", "FeedFnHook", "FinalOpsHook",
        "GlobalStepWaiterHook", "LoggingTensorHook", "NanLossDuringTrainingError",
        "NanTensorHook", "ProfilerHook", "SecondOrStepTimer", "SessionRunArgs",
        "SessionRunContext", "SessionRunHook", "SessionRunValues", "StepCounterHook",
        "StopAtStepHook", "SummarySaverHook",
    ]
}  # fmt: skip
