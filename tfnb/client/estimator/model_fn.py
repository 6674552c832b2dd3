"""``ModeKeys`` and ``EstimatorSpec``: the purpose and the result of a ``model_fn``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tfnb.client.estimator.arguments import accepted
from tfnb.client.estimator.export.export_outputs import get_export_outputs
from tfnb.client.training.scaffold import Scaffold
from tfnb.client.training.session_run_hook import SessionRunHook
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.operation import Operation
from tfnb.framework.tensor import Tensor
from tfnb.library.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXPORTS = {
    "estimator": ["EstimatorSpec", "ModeKeys"],
    "estimator.experimental": ["call_logit_fn"],
}

LOSS_METRIC_KEY = "loss"
AVERAGE_LOSS_METRIC_KEY = "average_loss"


class ModeKeys:
    """The purposes for which a ``model_fn`` builds its graph."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class _SpecFields(NamedTuple):
    mode: Any
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Any
    export_outputs: Any
    training_chief_hooks: Any
    training_hooks: Any
    scaffold: Any
    evaluation_hooks: Any
    prediction_hooks: Any


class EstimatorSpec(_SpecFields):
    """The ops that an ``Estimator`` runs, which a ``model_fn`` returns.

    Args:
        mode: A key of :class:`ModeKeys`.
        predictions: A tensor, or a dictionary of them.
        loss: The training loss, a scalar or of one element.
        train_op: Performs a training step.
        eval_metric_ops: Name -> (value, update op) of a metric.
        export_outputs: Name -> ``ExportOutput`` of a signature to serve.
        training_chief_hooks: Hooks of the training, on the chief worker only.
        training_hooks: Hooks of the training, on every worker.
        scaffold: Ops for initialization, saving and summaries.
        evaluation_hooks: Hooks of the evaluation.
        prediction_hooks: Hooks of the prediction.

    Raises:
        ValueError: What the mode needs is missing, or it is of another graph.
        TypeError: An argument has another type.
    """

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Any = None,
        export_outputs: Any = None,
        training_chief_hooks: Sequence[Any] | None = None,
        training_hooks: Sequence[Any] | None = None,
        scaffold: Any = None,
        evaluation_hooks: Sequence[Any] | None = None,
        prediction_hooks: Sequence[Any] | None = None,
    ) -> Self:
        """See the class."""
        train_op = checked_train_op(train_op, mode)
        loss = checked_loss(loss, mode)
        predictions = checked_predictions(predictions, mode)
        if mode == ModeKeys.PREDICT:
            export_outputs = get_export_outputs(export_outputs, predictions)
        return super().__new__(
            cls,
            mode=mode,
            predictions=predictions,
            loss=loss,
            train_op=train_op,
            eval_metric_ops=_checked_metrics(eval_metric_ops),
            export_outputs=export_outputs,
            training_chief_hooks=checked_hooks(training_chief_hooks),
            training_hooks=checked_hooks(training_hooks),
            scaffold=_checked_scaffold(scaffold),
            evaluation_hooks=checked_hooks(evaluation_hooks),
            prediction_hooks=checked_hooks(prediction_hooks),
        )

    def _replace(self, **kwds: Any) -> Self:
        if "mode" in kwds and kwds["mode"] != self.mode:
            raise ValueError("mode of EstimatorSpec cannot be changed.")
        return type(self)(**{**self._asdict(), **kwds})


def checked_train_op(train_op: Any, mode: str) -> Any:
    """Return the op of a training step.

    Raises:
        ValueError: The mode is TRAIN and there is none, or it is of another graph.
        TypeError: It is neither an operation nor a tensor.
    """
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError(
                "Missing train_op. A model_fn that is called with mode=ModeKeys.TRAIN returns "
                "EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, global_step))."
            )
        return None
    if isinstance(train_op, Variable):
        train_op = train_op.op
    if not isinstance(train_op, Operation | Tensor):
        raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
    _check_graph("train_op", train_op.name, train_op)
    return train_op


def checked_loss(loss: Any, mode: str) -> Any:
    """Return the loss as a scalar tensor.

    Raises:
        ValueError: A mode that needs it has none, it has several elements or is of another graph.
        TypeError: It is no tensor.
    """
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError(
                "Missing loss. A model_fn that is called to train or to evaluate returns "
                "EstimatorSpec(mode, loss=loss, ...)."
            )
        return None
    loss = _checked_tensor(loss, "loss")
    if loss.shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    _check_graph("loss", loss.name, loss)
    if not loss.shape.is_compatible_with([]):
        from tfnb.ops.array.array_ops import reshape

        loss = reshape(loss, [])
    return loss


def checked_predictions(predictions: Any, mode: str) -> Any:
    """Return the predictions; a dictionary without entries if there are none.

    Raises:
        ValueError: The mode is PREDICT and there are none, or they are of another graph.
        TypeError: A prediction is no tensor.
    """
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError(
                "Missing predictions. A model_fn that is called with mode=ModeKeys.PREDICT returns "
                "EstimatorSpec(mode, predictions=...)."
            )
        return {}
    if isinstance(predictions, dict):
        for key, value in predictions.items():
            _checked_tensor(value, f"predictions[{key}]")
            _check_graph("prediction values", f"{key}: {value.name}", value)
        return dict(predictions)
    _checked_tensor(predictions, "predictions")
    _check_graph("prediction values", predictions.name, predictions)
    return predictions


def checked_hooks(hooks: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return hooks as a tuple.

    Raises:
        TypeError: An element is no hook.
    """
    hooks = tuple(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
    return hooks


def _checked_metrics(metrics: Any) -> dict[str, Any]:
    if metrics is None:
        return {}
    if not isinstance(metrics, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics}")
    for key, value in metrics.items():
        if not isinstance(value, tuple) or len(value) != 2:
            raise TypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples, given: "
                f"{value} for key: {key}"
            )
        for part in value:
            if isinstance(part, Operation | Tensor):
                _check_graph("eval_metric_ops", f"{key}: {part.name}", part)
    return dict(metrics)


def _checked_scaffold(scaffold: Any) -> Scaffold:
    if scaffold is None:
        return Scaffold()
    if not isinstance(scaffold, Scaffold):
        raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
    return scaffold


def _checked_tensor(value: Any, what: str) -> Any:
    if not isinstance(value, Tensor | Variable):
        raise TypeError(f"{what} must be Tensor, given: {value}")
    return value


def _check_graph(what: str, name: str, value: Any) -> None:
    if value.graph is not get_default_graph():
        raise ValueError(
            f'{what} with "{name}" must be from the default graph. Create it inside of model_fn: '
            "the Estimator calls that function in a graph of its own, so that tensors made outside "
            "of it, or kept from an earlier call, belong to another graph."
        )


def call_logit_fn(
    logit_fn: Callable[..., Any], features: Any, mode: str, params: Any, config: Any
) -> Any:
    """Call a function that computes logits, with those arguments that it has.

    Args:
        logit_fn: The function.
        features: The features.
        mode: A key of :class:`ModeKeys`.
        params: The hyperparameters.
        config: The ``RunConfig``.

    Raises:
        ValueError: It returns neither a tensor nor a dictionary of tensors.
    """
    result = logit_fn(
        features=features,
        **accepted(logit_fn, {"mode": mode, "params": params, "config": config}),
    )
    values = list(result.values()) if isinstance(result, dict) else [result]
    keys = list(result) if isinstance(result, dict) else []
    if not all(isinstance(value, Tensor) for value in values) or not all(
        isinstance(key, str) for key in keys
    ):
        raise ValueError(
            "logit_fn should return a Tensor or a dictionary mapping strings to Tensors.  "
            f"logit_fn returned: {result}"
        )
    return result
