"""``tf.contrib.training``: hyperparameters, and tf-slim's training loops."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.hparams import HParams as HParams
from tfnb.as_tensorflow.contrib.hparams import parse_values as parse_values
from tfnb.as_tensorflow.contrib.ps_strategies import (
    GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy,
)
from tfnb.as_tensorflow.contrib.ps_strategies import RandomStrategy as RandomStrategy
from tfnb.as_tensorflow.contrib.ps_strategies import byte_size_load_fn as byte_size_load_fn
from tfnb.as_tensorflow.contrib.slim_modules import name_of_slim
from tfnb.as_tensorflow.contrib.training_batches import bucket as bucket
from tfnb.as_tensorflow.contrib.training_batches import (
    bucket_by_sequence_length as bucket_by_sequence_length,
)
from tfnb.as_tensorflow.contrib.training_batches import rejection_sample as rejection_sample
from tfnb.as_tensorflow.contrib.training_batches import resample_at_rate as resample_at_rate
from tfnb.as_tensorflow.contrib.training_batches import stratified_sample as stratified_sample
from tfnb.as_tensorflow.contrib.training_batches import weighted_resample as weighted_resample
from tfnb.as_tensorflow.missing_name import missing_name

_PLACES = ("tf_slim.training", "tf_slim.training.evaluation", "tf_slim.training.training")
_NO_STATES = "keep the states in variables, or feed them: tf.nn.dynamic_rnn(initial_state=...)"
_MISSING = {
    "batch_sequences_with_states": _NO_STATES,
    "SequenceQueueingStateSaver": _NO_STATES,
    "NextQueuedSequenceBatch": _NO_STATES,
    "FeedingQueueRunner": "use tf.data.Dataset.from_generator",
    "FailureTolerator": "use tf.train.MonitoredTrainingSession",
    "Tuner": "write the loop over hyperparameters in Python",
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _MISSING:
        return missing_name("tf.contrib.training", name, _MISSING[name])
    return name_of_slim("training", name, _PLACES)
