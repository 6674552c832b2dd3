"""The outputs of a model that is served, and the signatures that are made of them."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf
from tfnb.framework.operation import Operation
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPORTS = {
    "estimator.export": [
        "ClassificationOutput", "ExportOutput", "PredictOutput", "RegressionOutput",
    ]
}  # fmt: skip

DEFAULT_KEY = "serving_default"
# Keys of the signatures of a graph for training or evaluation.
TRAIN_KEY = "train"
EVAL_KEY = "eval"
_SUPERVISED_METHOD = {
    "train": "tensorflow/supervised/training",
    "eval": "tensorflow/supervised/eval",
}


class ExportOutput(abc.ABC):
    """An output of a model, which becomes a signature of the exported model."""

    @abc.abstractmethod
    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the ``SignatureDef`` with these inputs."""


class ClassificationOutput(ExportOutput):
    """The scores and names of classes.

    Args:
        scores: A float tensor, batch x classes.
        classes: A string tensor, batch x classes.

    Raises:
        ValueError: Both are missing, or have another type.
    """

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (
            isinstance(classes, Tensor) and tf.as_dtype(classes.dtype) == tf.string
        ):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores = scores
        self._classes = classes

    @property
    def scores(self) -> Any:
        """The scores, or None."""
        return self._scores

    @property
    def classes(self) -> Any:
        """The names of the classes, or None."""
        return self._classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature of a classification; it has one input of serialized examples."""
        examples = _one_string_input(receiver_tensors, "Classification")
        return tf.saved_model.classification_signature_def(examples, self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """Values that a model computes for each example.

    Args:
        value: A float tensor.

    Raises:
        ValueError: It has another type.
    """

    def __init__(self, value: Any) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self._value = value

    @property
    def value(self) -> Any:
        """The values."""
        return self._value

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature of a regression; it has one input of serialized examples."""
        examples = _one_string_input(receiver_tensors, "Regression")
        return tf.saved_model.regression_signature_def(examples, self.value)


class PredictOutput(ExportOutput):
    """Any tensors, by names.

    Args:
        outputs: A tensor, or a dictionary of them.

    Raises:
        ValueError: An output is no tensor, or its key no string.
    """

    def __init__(self, outputs: Any) -> None:
        if not isinstance(outputs, dict):
            outputs = {"output": outputs}
        self._outputs = {
            _joined_key(key): _checked_output(key, value) for key, value in outputs.items()
        }

    @property
    def outputs(self) -> dict[str, Any]:
        """Name -> tensor."""
        return self._outputs

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature of a prediction."""
        return tf.saved_model.predict_signature_def(receiver_tensors, self.outputs)


class SupervisedOutput(ExportOutput):
    """The loss, predictions and metrics of a graph for training or evaluation.

    Args:
        mode: ``train`` or ``eval``.
        loss: The loss.
        predictions: The predictions.
        metrics: Name -> (value, update op).
    """

    def __init__(self, mode: str, loss: Any, predictions: Any, metrics: Any) -> None:
        self._mode = mode
        self.outputs: dict[str, Any] = {"loss": loss} if loss is not None else {}
        if isinstance(predictions, dict):
            for key, value in predictions.items():
                self.outputs[f"predictions/{_joined_key(key)}"] = value
        elif predictions is not None:
            self.outputs["predictions"] = predictions
        for key, (value, update) in (metrics or {}).items():
            self.outputs[f"metrics/{key}/value"] = value
            if isinstance(update, Operation):
                with tf.control_dependencies([update]):
                    update = tf.constant([], name="metric_op_wrapper")
            self.outputs[f"metrics/{key}/update_op"] = update

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature of a training or an evaluation."""
        info = tf.saved_model.build_tensor_info
        return tf.saved_model.build_signature_def(
            {name: info(tensor) for name, tensor in receiver_tensors.items()},
            {name: info(tensor) for name, tensor in self.outputs.items()},
            _SUPERVISED_METHOD[self._mode],
        )


def _joined_key(key: Any) -> str:
    """Return the name of an output; the keys of several heads are pairs of strings."""
    if isinstance(key, tuple):
        return "/".join(_joined_key(part) for part in key)
    if not isinstance(key, str):
        raise ValueError(f"Prediction output key must be a string; got {key}.")
    return key


def _checked_output(key: Any, value: Any) -> Any:
    if not isinstance(value, Tensor | SparseTensor):
        raise ValueError(f"Prediction output value must be a Tensor; got {value} for key {key!r}.")
    return value


def _one_string_input(receiver_tensors: Mapping[str, Any], kind: str) -> Any:
    if len(receiver_tensors) != 1:
        raise ValueError(
            f"{kind} input must be a single string Tensor; got {dict(receiver_tensors)}"
        )
    (examples,) = receiver_tensors.values()
    if tf.as_dtype(examples.dtype) != tf.string:
        raise ValueError(
            f"{kind} input must be a single string Tensor; got {dict(receiver_tensors)}"
        )
    return examples


def get_export_outputs(export_outputs: Any, predictions: Any) -> dict[str, ExportOutput]:
    """Return the outputs to serve, with one of them as default.

    Args:
        export_outputs: Name -> ``ExportOutput``; None to serve the predictions.
        predictions: The predictions.

    Raises:
        TypeError: A value is no ``ExportOutput``, or the argument no dictionary.
        ValueError: There are several outputs and no default.
    """
    if export_outputs is None:
        export_outputs = {DEFAULT_KEY: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    for output in export_outputs.values():
        if not isinstance(output, ExportOutput):
            raise TypeError(
                f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}"
            )
    if DEFAULT_KEY in export_outputs:
        return export_outputs
    if len(export_outputs) > 1:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default.  "
            f"Do this by naming one of them with {DEFAULT_KEY!r} "
            "(tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY)."
        )
    only = next(iter(export_outputs.values()), None)
    return export_outputs if only is None else {**export_outputs, DEFAULT_KEY: only}


def signature_defs(
    receiver_tensors: Any,
    export_outputs: Mapping[str, ExportOutput],
    alternatives: Mapping[str, Any] | None = None,
    serving_only: bool = True,
) -> dict[str, Any]:
    """Return name -> ``SignatureDef``; those that do not fit the inputs are left out.

    Args:
        receiver_tensors: The inputs, by name or one tensor.
        export_outputs: The outputs.
        alternatives: Name -> other inputs, each with signatures ``<name>:<output>``.
        serving_only: Whether outputs of a training may not be among them.

    Raises:
        ValueError: There are no outputs, or no signature remains.
    """
    if not isinstance(receiver_tensors, dict):
        receiver_tensors = {"input": receiver_tensors}
    if not export_outputs:
        raise ValueError("export_outputs must be a dict and not empty.")
    found: dict[str, Any] = {}
    excluded: dict[str, str] = {}
    sources = {
        "": receiver_tensors,
        **{f"{name}:": one for name, one in (alternatives or {}).items()},
    }
    for prefix, inputs in sources.items():
        tensors = inputs if isinstance(inputs, dict) else {"input": inputs}
        for key, output in export_outputs.items():
            name = f"{prefix}{key or 'None'}"
            try:
                signature = output.as_signature_def(tensors)
            except ValueError as error:
                excluded[name] = str(error)
                continue
            if serving_only and not tf.saved_model.is_valid_signature(signature):
                excluded[name] = "it is no signature for serving"
                continue
            found[name] = signature
    _log_signatures(found, excluded)
    if not found:
        raise ValueError(
            "No signature fits the inputs of the exported model: "
            + "; ".join(f"{name}: {reason}" for name, reason in excluded.items())
        )
    return found


def _log_signatures(found: Mapping[str, Any], excluded: Mapping[str, str]) -> None:
    tf.logging.info("Signatures INCLUDED in export: %s", sorted(found))
    for name, reason in excluded.items():
        tf.logging.info("Signature %s is EXCLUDED from export: %s", name, reason)
    if DEFAULT_KEY not in found and not set(found) <= {TRAIN_KEY, EVAL_KEY}:
        tf.logging.warning("Export includes no default signature!")
