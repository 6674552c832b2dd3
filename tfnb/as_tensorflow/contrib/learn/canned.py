"""The models of ``tf.contrib.learn`` over feature columns, on those of ``tf.estimator``.

Variables, metrics and summaries have the names of ``tf.estimator``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.as_tensorflow.contrib.estimator import clip_gradients_by_norm
from tfnb.as_tensorflow.contrib.feature_columns import named_features
from tfnb.as_tensorflow.contrib.learn.estimator import Estimator
from tfnb.client.estimator.canned.optimizers import optimizer_instance
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# The loss of a batch is the mean of the losses of its examples.
_MEAN = tf.losses.Reduction.SUM_OVER_BATCH_SIZE
_DNN_RATE, _LINEAR_RATE = 0.05, 0.2


class PredictionKey:
    """The names of predictions."""

    CLASSES = "classes"
    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOGISTIC = "logistic"
    SCORES = "scores"
    TOP_K = "top_k"
    GENERIC = "output"


def _optimizer(given: Any, default: str, rate: float, clip_norm: float | None) -> Any:
    """Return a function that makes the optimizer; it clips gradients if there is a norm."""
    if clip_norm is None:
        return default if given is None else given
    return lambda: clip_gradients_by_norm(
        optimizer_instance(default if given is None else given, rate), clip_norm
    )


def _refuse(**given: Any) -> None:
    for name, value in given.items():
        if value:
            raise NotImplementedError(
                f"{name} is not there: build the model with a model_fn for tf.estimator.Estimator."
            )


class _OverColumns(Estimator):
    """A model whose features may be one tensor.

    Args:
      model: of ``tf.estimator``.
      model_dir: the folder of checkpoints and summaries.
      config: a ``RunConfig``.
      feature_engineering_fn: a function of (features, labels), before the model.
    """

    def __init__(
        self, model: Any, model_dir: Any, config: Any, feature_engineering_fn: Any
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            return model.model_fn(named_features(features), labels, mode, config)

        super().__init__(
            model_fn, model_dir or model.model_dir, config, None, feature_engineering_fn
        )


class _Classifier(_OverColumns):
    def predict(self, x: Any = None, *args: Any, **rest: Any) -> Any:  # type: ignore[override]
        """Return the classes, or the predictions of ``outputs``.

        Args:
          x: the features as an array, or key -> array; or an input function.
          *args: as of ``Estimator.predict``.
          **rest: as of ``Estimator.predict``.
        """
        if len(args) > 2 or rest.get("outputs") or "predict_keys" in rest:
            return super().predict(x, *args, **rest)
        return self.predict_classes(x, *args, **rest)

    def predict_classes(
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Return the class of each example.

        Args:
          x: the features as an array, or key -> array.
          input_fn: returns features, instead of arrays.
          batch_size: of arrays.
          as_iterable: whether to return an iterator, and no array.
        """
        found = super().predict(x, input_fn, batch_size, ["classes", "class_ids"])
        return _collected((_class_of(one) for one in found), as_iterable)

    def predict_proba(
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Return the probabilities of each example; arguments as of ``predict_classes``."""
        found = super().predict(x, input_fn, batch_size, ["probabilities"])
        return _collected((one["probabilities"] for one in found), as_iterable)


def _class_of(one: dict[str, Any]) -> Any:
    """Return the name of a class where it has one that is no number, else its number."""
    name, number = one["classes"][0], one["class_ids"][0]
    return number if name == str(number).encode() else name


def _collected(found: Iterator[Any], as_iterable: bool) -> Any:
    return found if as_iterable else np.array(list(found))


class _Regressor(_OverColumns):
    def predict(self, x: Any = None, *args: Any, **rest: Any) -> Any:  # type: ignore[override]
        """Return the scores, or the predictions of ``outputs``.

        Args:
          x: the features as an array, or key -> array; or an input function.
          *args: as of ``Estimator.predict``.
          **rest: as of ``Estimator.predict``.
        """
        if len(args) > 2 or rest.get("outputs") or "predict_keys" in rest:
            return super().predict(x, *args, **rest)
        return self.predict_scores(x, *args, **rest)

    def predict_scores(
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """Return the number, or numbers, of each example.

        Args:
          x: the features as an array, or key -> array.
          input_fn: returns features, instead of arrays.
          batch_size: of arrays.
          as_iterable: whether to return an iterator, and no array.
        """
        found = super().predict(x, input_fn, batch_size, ["predictions"])
        scores = (one["predictions"] for one in found)
        return _collected((one[0] if len(one) == 1 else one for one in scores), as_iterable)


class LinearClassifier(_Classifier):
    """A linear model that predicts classes.

    Args:
      feature_columns: the columns.
      model_dir: the folder of checkpoints and summaries.
      n_classes: the number of classes.
      weight_column_name: the feature with the weights of examples.
      optimizer: an optimizer; Ftrl by default.
      gradient_clip_norm: the largest common norm of gradients.
      enable_centered_bias: must be False.
      _joint_weight: without effect.
      config: a ``RunConfig``.
      feature_engineering_fn: a function of (features, labels), before the model.
      label_keys: the names of the classes.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        _joint_weight: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        label_keys: Any = None,
    ) -> None:
        _refuse(enable_centered_bias=enable_centered_bias)
        chosen = _optimizer(optimizer, "Ftrl", _LINEAR_RATE, gradient_clip_norm)
        model = tf.estimator.LinearClassifier(
            feature_columns, model_dir, n_classes, weight_column_name, label_keys, chosen, config,
            loss_reduction=_MEAN,
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


class LinearRegressor(_Regressor):
    """A linear model that predicts numbers.

    Args:
      feature_columns: the columns.
      model_dir: the folder of checkpoints and summaries.
      weight_column_name: the feature with the weights of examples.
      optimizer: an optimizer; Ftrl by default.
      gradient_clip_norm: the largest common norm of gradients.
      enable_centered_bias: must be False.
      label_dimension: the number of values of an example.
      _joint_weights: without effect.
      config: a ``RunConfig``.
      feature_engineering_fn: a function of (features, labels), before the model.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        _refuse(enable_centered_bias=enable_centered_bias)
        chosen = _optimizer(optimizer, "Ftrl", _LINEAR_RATE, gradient_clip_norm)
        model = tf.estimator.LinearRegressor(
            feature_columns, model_dir, label_dimension, weight_column_name, chosen, config,
            loss_reduction=_MEAN,
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


class DNNClassifier(_Classifier):
    """A deep model that predicts classes.

    Args:
      hidden_units: the sizes of the hidden layers.
      feature_columns: the columns.
      model_dir: the folder of checkpoints and summaries.
      n_classes: the number of classes.
      weight_column_name: the feature with the weights of examples.
      optimizer: an optimizer; Adagrad by default.
      activation_fn: of the hidden layers.
      dropout: the probability with which a value is dropped in a training.
      gradient_clip_norm: the largest common norm of gradients.
      enable_centered_bias: must be False.
      config: a ``RunConfig``.
      feature_engineering_fn: a function of (features, labels), before the model.
      embedding_lr_multipliers: must be None.
      input_layer_min_slice_size: without effect.
      label_keys: the names of the classes.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Any = tf.nn.relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        label_keys: Any = None,
    ) -> None:
        _refuse(
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
        )
        chosen = _optimizer(optimizer, "Adagrad", _DNN_RATE, gradient_clip_norm)
        model = tf.estimator.DNNClassifier(
            hidden_units, feature_columns, model_dir, n_classes, weight_column_name, label_keys,
            chosen, activation_fn, dropout, config=config, loss_reduction=_MEAN,
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


class DNNRegressor(_Regressor):
    """A deep model that predicts numbers.

    Args:
      hidden_units: the sizes of the hidden layers.
      feature_columns: the columns.
      model_dir: the folder of checkpoints and summaries.
      weight_column_name: the feature with the weights of examples.
      optimizer: an optimizer; Adagrad by default.
      activation_fn: of the hidden layers.
      dropout: the probability with which a value is dropped in a training.
      gradient_clip_norm: the largest common norm of gradients.
      enable_centered_bias: must be False.
      config: a ``RunConfig``.
      feature_engineering_fn: a function of (features, labels), before the model.
      label_dimension: the number of values of an example.
      embedding_lr_multipliers: must be None.
      input_layer_min_slice_size: without effect.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Any = tf.nn.relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        label_dimension: int = 1,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
    ) -> None:
        _refuse(
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
        )
        chosen = _optimizer(optimizer, "Adagrad", _DNN_RATE, gradient_clip_norm)
        model = tf.estimator.DNNRegressor(
            hidden_units, feature_columns, model_dir, label_dimension, weight_column_name, chosen,
            activation_fn, dropout, config=config, loss_reduction=_MEAN,
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


class DNNLinearCombinedClassifier(_Classifier):
    """A wide and deep model that predicts classes.

    Args:
      model_dir: the folder of checkpoints and summaries.
      n_classes: the number of classes.
      weight_column_name: the feature with the weights of examples.
      linear_feature_columns: the columns of the wide part.
      linear_optimizer: trains the wide part; Ftrl by default.
      joint_linear_weights: without effect.
      dnn_feature_columns: the columns of the deep part.
      dnn_optimizer: trains the deep part; Adagrad by default.
      dnn_hidden_units: the sizes of the hidden layers.
      dnn_activation_fn: of the hidden layers.
      dnn_dropout: the probability with which a value is dropped in a training.
      gradient_clip_norm: the largest common norm of the gradients of a part.
      enable_centered_bias: must be False.
      config: a ``RunConfig``.
      feature_engineering_fn: a function of (features, labels), before the model.
      embedding_lr_multipliers: must be None.
      input_layer_min_slice_size: without effect.
      label_keys: the names of the classes.
      fix_global_step_increment_bug: without effect: a step counts once.
    """

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        linear_feature_columns: Sequence[Any] | None = None,
        linear_optimizer: Any = None,
        joint_linear_weights: bool = False,
        dnn_feature_columns: Sequence[Any] | None = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = tf.nn.relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        label_keys: Any = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        _refuse(
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
        )
        model = tf.estimator.DNNLinearCombinedClassifier(
            model_dir,
            linear_feature_columns,
            _optimizer(linear_optimizer, "Ftrl", _LINEAR_RATE, gradient_clip_norm),
            dnn_feature_columns,
            _optimizer(dnn_optimizer, "Adagrad", _DNN_RATE, gradient_clip_norm),
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            n_classes,
            weight_column_name,
            label_keys,
            config=config,
            loss_reduction=_MEAN,
        )
        super().__init__(model, model_dir, config, feature_engineering_fn)


class DNNLinearCombinedRegressor(_Regressor):
    """A wide and deep model that predicts numbers.

    Args:
      model_dir: the folder of checkpoints and summaries.
      weight_column_name: the feature with the weights of examples.
      linear_feature_columns: the columns of the wide part.
      linear_optimizer: trains the wide part; Ftrl by default.
      joint_linear_weights: without effect.
      dnn_feature_columns: the columns of the deep part.
      dnn_optimizer: trains the deep part; Adagrad by default.
      dnn_hidden_units: the sizes of the hidden layers.
      dnn_activation_fn: of the hidden layers.
      dnn_dropout: the probability with which a value is dropped in a training.
      gradient_clip_norm: the largest common norm of the gradients of a part.
      enable_centered_bias: must be False.
      label_dimension: the number of values of an example.
      config: a ``RunConfig``.
      feature_engineering_fn: a function of (features, labels), before the model.
      embedding_lr_multipliers: must be None.
      input_layer_min_slice_size: without effect.
      fix_global_step_increment_bug: without effect: a step counts once.
    """

    def __init__(
        self,
        model_dir: Any = None,
        weight_column_name: str | None = None,
        linear_feature_columns: Sequence[Any] | None = None,
        linear_optimizer: Any = None,
        joint_linear_weights: bool = False,
        dnn_feature_columns: Sequence[Any] | None = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = tf.nn.relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        _refuse(
            enable_centered_bias=enable_centered_bias,
            embedding_lr_multipliers=embedding_lr_multipliers,
        )
        model = tf.estimator.DNNLinearCombinedRegressor(
            model_dir,
            linear_feature_columns,
            _optimizer(linear_optimizer, "Ftrl", _LINEAR_RATE, gradient_clip_norm),
            dnn_feature_columns,
            _optimizer(dnn_optimizer, "Adagrad", _DNN_RATE, gradient_clip_norm),
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            label_dimension,
            weight_column_name,
            config=config,
            loss_reduction=_MEAN,
        )
        super().__init__(model, model_dir, config, feature_engineering_fn)
