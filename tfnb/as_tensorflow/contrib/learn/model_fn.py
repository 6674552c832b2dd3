"""What the ``model_fn`` of ``tf.contrib.learn`` gets and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.client.estimator.export.export_outputs import (
    ClassificationOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
)
from tfnb.client.estimator.model_fn import EstimatorSpec
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Mapping


class ModeKeys:
    """What a model is built for."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Check a mode.

        Args:
          key: the mode.

        Raises:
          ValueError: it is none.
        """
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")


class ProblemType:
    """What a model predicts."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3


class ModelFnOps(NamedTuple):
    """What a ``model_fn`` returns.

    Args:
      mode: see ``ModeKeys``.
      predictions: a tensor, or key -> tensor.
      loss: the training loss.
      train_op: the op of a training step.
      eval_metric_ops: name -> (value, update op).
      output_alternatives: name -> (``ProblemType``, key -> tensor), for an export.
      training_chief_hooks: hooks of a training in the chief.
      training_hooks: hooks of a training.
      scaffold: what a session needs.
    """

    mode: Any
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    output_alternatives: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None

    def estimator_spec(self, default_serving_output_alternative_key: Any = None) -> EstimatorSpec:
        """Return it as what ``tf.estimator`` expects.

        Args:
          default_serving_output_alternative_key: the alternative that is served by default.
        """
        outputs = None
        if self.output_alternatives and self.mode == ModeKeys.INFER:
            outputs = {
                key or "None": _export_output(*one) for key, one in self.output_alternatives.items()
            }
            first = next(iter(outputs))
            outputs["serving_default"] = outputs[default_serving_output_alternative_key or first]
        is_infer = self.mode == ModeKeys.INFER
        return EstimatorSpec(
            self.mode,
            self.predictions,
            None if is_infer else self.loss,
            self.train_op if self.mode == ModeKeys.TRAIN else None,
            self.eval_metric_ops,
            outputs,
            self.training_chief_hooks,
            self.training_hooks,
            self.scaffold,
        )


class _FittingOutput(ExportOutput):
    """An output of a kind, or a plain one where the inputs do not fit that kind.

    Args:
      output: of the kind.
      tensors: key -> tensor, for a plain one.
    """

    def __init__(self, output: ExportOutput, tensors: Mapping[str, Any]) -> None:
        self._output = output
        self._plain = PredictOutput(dict(tensors))

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature."""
        try:
            return self._output.as_signature_def(receiver_tensors)
        except ValueError:
            return self._plain.as_signature_def(receiver_tensors)


def _export_output(problem: int, tensors: Mapping[str, Any]) -> ExportOutput:
    if problem == ProblemType.LINEAR_REGRESSION and "scores" in tensors:
        return _FittingOutput(RegressionOutput(tensors["scores"]), tensors)
    if problem in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
        scores = tensors.get("probabilities")
        classes = tensors.get("classes")
        if classes is not None and classes.dtype != tf.string:
            classes = None
        if scores is not None or classes is not None:
            return _FittingOutput(ClassificationOutput(scores, classes), tensors)
    return PredictOutput(dict(tensors))


def spec_of(result: Any, mode: str) -> EstimatorSpec:
    """Return the result of a ``model_fn`` of any kind as an ``EstimatorSpec``.

    Args:
      result: an ``EstimatorSpec``, ``ModelFnOps``, or (predictions, loss, train_op).
      mode: see ``ModeKeys``.

    Raises:
      ValueError: it is something else.
    """
    if isinstance(result, EstimatorSpec):
        return result
    if isinstance(result, ModelFnOps):
        return result.estimator_spec()
    if isinstance(result, tuple | list) and len(result) == 3:
        return ModelFnOps(mode, *result).estimator_spec()
    raise ValueError(
        "model_fn should return ModelFnOps, an EstimatorSpec, or predictions, loss and train_op. "
        f"It returned {type(result).__name__}: {result!r:.200}"
    )
