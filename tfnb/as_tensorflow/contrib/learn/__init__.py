"""``tf.contrib.learn``: models with ``fit``, experiments, and text as ids.

Its models are those of ``tf.estimator``, with the older methods.
"""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.feature_columns import infer_real_valued_columns
from tfnb.as_tensorflow.contrib.learn import datasets as datasets
from tfnb.as_tensorflow.contrib.learn import learn_runner as learn_runner
from tfnb.as_tensorflow.contrib.learn import monitors as monitors
from tfnb.as_tensorflow.contrib.learn import preprocessing as preprocessing
from tfnb.as_tensorflow.contrib.learn import utils as utils
from tfnb.as_tensorflow.contrib.learn.canned import DNNClassifier as DNNClassifier
from tfnb.as_tensorflow.contrib.learn.canned import (
    DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
)
from tfnb.as_tensorflow.contrib.learn.canned import (
    DNNLinearCombinedRegressor as DNNLinearCombinedRegressor,
)
from tfnb.as_tensorflow.contrib.learn.canned import DNNRegressor as DNNRegressor
from tfnb.as_tensorflow.contrib.learn.canned import LinearClassifier as LinearClassifier
from tfnb.as_tensorflow.contrib.learn.canned import LinearRegressor as LinearRegressor
from tfnb.as_tensorflow.contrib.learn.canned import PredictionKey as PredictionKey
from tfnb.as_tensorflow.contrib.learn.estimator import Estimator as Estimator
from tfnb.as_tensorflow.contrib.learn.estimator import SKCompat as SKCompat
from tfnb.as_tensorflow.contrib.learn.experiment import Experiment as Experiment
from tfnb.as_tensorflow.contrib.learn.metric_spec import MetricSpec as MetricSpec
from tfnb.as_tensorflow.contrib.learn.model_fn import ModeKeys as ModeKeys
from tfnb.as_tensorflow.contrib.learn.model_fn import ModelFnOps as ModelFnOps
from tfnb.as_tensorflow.contrib.learn.model_fn import ProblemType as ProblemType
from tfnb.as_tensorflow.contrib.learn.run_config import Environment as Environment
from tfnb.as_tensorflow.contrib.learn.run_config import RunConfig as RunConfig
from tfnb.as_tensorflow.contrib.learn.run_config import TaskType as TaskType
from tfnb.as_tensorflow.contrib.learn.utils import InputFnOps as InputFnOps
from tfnb.as_tensorflow.contrib.learn.utils import (
    build_parsing_serving_input_fn as build_parsing_serving_input_fn,
)
from tfnb.as_tensorflow.contrib.learn.utils.export_strategy import ExportStrategy as ExportStrategy
from tfnb.as_tensorflow.contrib.learn.utils.export_strategy import (
    make_export_strategy as make_export_strategy,
)
from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.public.api import tf

BaseEstimator = Estimator
NanLossDuringTrainingError = tf.train.NanLossDuringTrainingError
build_raw_serving_input_fn = utils.build_default_serving_input_fn


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """Return a column of numbers for each feature of arrays.

    Args:
      x: an array, or key -> array.
    """
    with tf.Graph().as_default():
        return infer_real_valued_columns(x)


def infer_real_valued_columns_from_input_fn(input_fn: Any) -> list[Any]:
    """Return a column of numbers for each feature of an input function.

    Args:
      input_fn: returns features and labels.
    """
    with tf.Graph().as_default():
        return infer_real_valued_columns(input_fn()[0])


_MISSING = {
    "DynamicRnnEstimator": "write a model_fn with tf.nn.dynamic_rnn",
    "KMeansClustering": "use tf.contrib.factorization.KMeansClustering",
    "LogisticRegressor": "use LinearClassifier",
    "SVM": "use LinearClassifier, or scikit-learn's",
    "StateSavingRnnEstimator": "write a model_fn with tf.nn.dynamic_rnn",
    "graph_actions": "use tf.train.MonitoredTrainingSession",
    "io": "use tf.data.TFRecordDataset and tf.parse_example",
    "read_batch_examples": "use tf.data.TFRecordDataset",
    "read_batch_features": "use tf.data.experimental.make_batched_features_dataset",
    "extract_pandas_data": "use the values of the data frame",
    "extract_pandas_labels": "use the values of the data frame",
}


def __getattr__(name: str) -> Any:
    if name in _MISSING or name[:1].isupper():
        advice = _MISSING.get(name, "use tf.estimator")
        return missing_name("tensorflow.contrib.learn", name, advice)
    raise AttributeError(f"module 'tensorflow.contrib.learn' has no attribute {name!r}")
