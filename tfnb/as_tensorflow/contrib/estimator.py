"""``tf.contrib.estimator``: heads and extenders that became ``tf.estimator``'s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.gradient_clipping import (
    clip_gradients_by_norm as clip_gradients_by_norm,
)
from tfnb.as_tensorflow.contrib.recurrent_models import RNNClassifier as RNNClassifier
from tfnb.as_tensorflow.contrib.recurrent_models import RNNEstimator as RNNEstimator
from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.estimator.early_stopping import (
    make_early_stopping_hook as make_early_stopping_hook,
)
from tfnb.client.estimator.early_stopping import read_eval_metrics as read_eval_metrics
from tfnb.client.estimator.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from tfnb.client.estimator.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from tfnb.client.estimator.early_stopping import (
    stop_if_no_decrease_hook as stop_if_no_decrease_hook,
)
from tfnb.client.estimator.early_stopping import (
    stop_if_no_increase_hook as stop_if_no_increase_hook,
)
from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.export.export_outputs import PredictOutput
from tfnb.client.estimator.export.receivers import (
    build_raw_supervised_input_receiver_fn as build_raw_supervised_input_receiver_fn,
)
from tfnb.client.estimator.extenders import add_metrics as add_metrics
from tfnb.client.estimator.heads.binary_class_head import (
    BinaryClassHead as binary_classification_head,
)
from tfnb.client.estimator.heads.multi_class_head import (
    MultiClassHead as multi_class_head,
)
from tfnb.client.estimator.heads.multi_head import (
    MultiHead as multi_head,
)
from tfnb.client.estimator.heads.multi_label_head import (
    MultiLabelHead as multi_label_head,
)
from tfnb.client.estimator.heads.regression_head import (
    LogisticRegressionHead as logistic_regression_head,
)
from tfnb.client.estimator.heads.regression_head import PoissonRegressionHead, RegressionHead
from tfnb.client.estimator.hooks import InMemoryEvaluatorHook as InMemoryEvaluatorHook
from tfnb.client.estimator.hooks import (
    make_stop_at_checkpoint_step_hook as make_stop_at_checkpoint_step_hook,
)
from tfnb.client.estimator.model_fn import ModeKeys
from tfnb.client.estimator.model_fn import call_logit_fn as call_logit_fn
from tfnb.client.public.api import tf
from tfnb.framework.sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tfnb.client.estimator.heads.head import Head

__all__ = [
    "binary_classification_head", "logistic_regression_head", "multi_class_head", "multi_head",
    "multi_label_head",
]  # fmt: skip

dnn_logit_fn_builder = tf.estimator.experimental.dnn_logit_fn_builder
linear_logit_fn_builder = tf.estimator.experimental.linear_logit_fn_builder
# The canned models with heads were here before they became public.
DNNEstimator = tf.estimator.DNNEstimator
LinearEstimator = tf.estimator.LinearEstimator
DNNLinearCombinedEstimator = tf.estimator.DNNLinearCombinedEstimator
BaselineEstimator = tf.estimator.BaselineEstimator

_MEAN = tf.losses.Reduction.SUM_OVER_BATCH_SIZE
_NO_TREES = "use tf.estimator.BoostedTreesClassifier or BoostedTreesRegressor, and train it"
_MISSING = {
    "boosted_trees_classifier_train_in_memory": _NO_TREES,
    "boosted_trees_regressor_train_in_memory": _NO_TREES,
    "SavedModelEstimator": "load the model with tf.saved_model.load in a session",
}


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> Head:
    """Return a head with numbers; arguments as of ``tf.estimator.RegressionHead``."""
    return RegressionHead(
        label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name
    )


def poisson_regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> Head:
    """Return a head with counts; arguments as of ``tf.estimator.PoissonRegressionHead``."""
    return PoissonRegressionHead(
        label_dimension, weight_column, loss_reduction, compute_full_loss, name
    )


def forward_features(
    estimator: Any, keys: Any = None, sparse_default_values: Mapping[str, Any] | None = None
) -> Any:
    """Return an Estimator whose predictions contain features, for example the number of a row.

    Args:
      estimator: the Estimator.
      keys: a key, or several; all features if None.
      sparse_default_values: key -> the value of a sparse feature where it has none.

    Raises:
      TypeError: an argument has another type.
      ValueError: when it predicts: a feature is missing, or predictions have its key.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must be `tensorflow.estimator.Estimator`. given: {estimator}")
    chosen = [keys] if isinstance(keys, str) else keys
    defaults = dict(sparse_default_values or {})

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.PREDICT:
            return spec
        predictions = dict(spec.predictions)
        for key in list(features) if chosen is None else chosen:
            if key not in features:
                raise ValueError(
                    f"keys should be exist in features. Key {key!r} not in features: "
                    f"{sorted(features)}"
                )
            if key in predictions:
                raise ValueError(
                    "Forwarded feature key should not be exist in predictions. Key "
                    f"{key!r} is in predictions: {sorted(predictions)}"
                )
            predictions[key] = _dense(features[key], defaults.get(key))
        outputs = {
            name: PredictOutput({**predictions, **output.outputs})
            if isinstance(output, PredictOutput)
            else output
            for name, output in spec.export_outputs.items()
        }
        return spec._replace(predictions=predictions, export_outputs=outputs)

    return Estimator(
        model_fn,
        model_dir=estimator.model_dir,
        config=estimator.config,
        warm_start_from=estimator.warm_start_settings,
    )


def _dense(feature: Any, default: Any) -> Any:
    if not isinstance(feature, SparseTensor):
        return tf.identity(feature)
    if default is None:
        return tf.sparse_tensor_to_dense(feature, "" if feature.dtype == tf.string else 0)
    return tf.sparse_tensor_to_dense(feature, default)


def replicate_model_fn(
    model_fn: Callable[..., Any], loss_reduction: Any = None, devices: Sequence[str] | None = None
) -> Callable[..., Any]:
    """Return the function itself: the model is on one device, which gets the whole batch."""
    if devices is not None and len(devices) > 1:
        tf.logging.warning(
            "replicate_model_fn: tfnb does not divide batches among devices %s; the model is on "
            "one of them.",
            list(devices),
        )
    return model_fn


def TowerOptimizer(optimizer_or_optimizer_fn: Any) -> Any:
    """Return the optimizer: there is one tower."""
    is_function = callable(optimizer_or_optimizer_fn)
    return optimizer_or_optimizer_fn() if is_function else optimizer_or_optimizer_fn


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        return missing_name("tensorflow.contrib.estimator", name, _MISSING[name])
    raise AttributeError(f"module 'tensorflow.contrib.estimator' has no attribute {name!r}")
