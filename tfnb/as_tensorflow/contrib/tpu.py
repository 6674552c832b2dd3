"""``tf.contrib.tpu``: ``TPUEstimator`` and its classes, on CPUs and GPUs."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.as_tensorflow.stand_ins.clusters.tpu import NO_TPU, OF_TPUS
from tfnb.as_tensorflow.stand_ins.clusters.tpu import CrossShardOptimizer as CrossShardOptimizer
from tfnb.as_tensorflow.stand_ins.clusters.tpu import bfloat16_scope as bfloat16_scope
from tfnb.as_tensorflow.stand_ins.clusters.tpu import cross_replica_sum as cross_replica_sum
from tfnb.as_tensorflow.stand_ins.clusters.tpu import outside_compilation as outside_compilation
from tfnb.client.estimator.tpu.tpu_config import InputPipelineConfig as InputPipelineConfig
from tfnb.client.estimator.tpu.tpu_config import RunConfig as RunConfig
from tfnb.client.estimator.tpu.tpu_config import TPUConfig as TPUConfig
from tfnb.client.estimator.tpu.tpu_estimator import TPUEstimator as TPUEstimator
from tfnb.client.estimator.tpu.tpu_estimator import TPUEstimatorSpec as TPUEstimatorSpec
from tfnb.client.public.api import tf

AsyncCheckpointSaverHook = tf.train.CheckpointSaverHook


def __getattr__(name: str) -> Any:
    if name in OF_TPUS:
        return missing_name("tensorflow.contrib.tpu", name, NO_TPU)
    raise AttributeError(f"module 'tensorflow.contrib.tpu' has no attribute {name!r}: {NO_TPU}")
