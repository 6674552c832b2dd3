"""The inputs of a model that is exported, which a ``serving_input_receiver_fn`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tfnb.client.public.api import tf
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EXPORTS = {
    "estimator.export": [
        "ServingInputReceiver", "TensorServingInputReceiver",
        "build_parsing_serving_input_receiver_fn", "build_raw_serving_input_receiver_fn",
    ],
    "estimator.experimental": ["build_raw_supervised_input_receiver_fn"],
}  # fmt: skip

_FEATURE = "feature"
_LABEL = "label"
_INPUT = "input"
_DEFAULT_NAMES = {
    "feature": _FEATURE,
    "label": _LABEL,
    "receiver_tensor": _INPUT,
    "receiver_tensors_alternative": _INPUT,
}


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any


class ServingInputReceiver(_Receiver):
    """The features of a model, and the tensors that a request feeds.

    Args:
        features: A tensor or sparse tensor, or a dictionary of them; always a dictionary here.
        receiver_tensors: The tensors to feed, by name.
        receiver_tensors_alternatives: Name -> other tensors to feed instead.

    Raises:
        ValueError: An argument is missing, no tensor, or its key no string.
    """

    def __new__(
        cls,
        features: Any,
        receiver_tensors: Any,
        receiver_tensors_alternatives: Any = None,
    ) -> Self:
        """See the class."""
        features = _checked(features, "feature", may_be_int=True)
        receiver_tensors = _checked(receiver_tensors, "receiver_tensor")
        if receiver_tensors_alternatives is not None:
            if not isinstance(receiver_tensors_alternatives, dict):
                raise ValueError(
                    "receiver_tensors_alternatives must be a dict: "
                    f"{receiver_tensors_alternatives}."
                )
            receiver_tensors_alternatives = {
                name: _checked(one, "receiver_tensors_alternative")
                for name, one in receiver_tensors_alternatives.items()
            }
        return super().__new__(cls, features, receiver_tensors, receiver_tensors_alternatives)


class TensorServingInputReceiver(_Receiver):
    """As :class:`ServingInputReceiver`, for a ``model_fn`` whose features are one tensor.

    Args:
        features: A tensor or sparse tensor.
        receiver_tensors: The tensors to feed, by name.
        receiver_tensors_alternatives: Name -> other tensors to feed instead.

    Raises:
        ValueError: An argument is missing, no tensor, or its key no string.
    """

    def __new__(
        cls,
        features: Any,
        receiver_tensors: Any,
        receiver_tensors_alternatives: Any = None,
    ) -> Self:
        """See the class."""
        if features is None:
            raise ValueError("features must be defined.")
        _check_tensor(features, None, "feature")
        receiver = ServingInputReceiver(features, receiver_tensors, receiver_tensors_alternatives)
        return super().__new__(
            cls,
            receiver.features[_FEATURE],
            receiver.receiver_tensors,
            receiver.receiver_tensors_alternatives,
        )


class _SupervisedReceiver(NamedTuple):
    features: Any
    labels: Any
    receiver_tensors: Any


class SupervisedInputReceiver(_SupervisedReceiver):
    """The features and labels of a graph that is exported for training or evaluation.

    Args:
        features: A tensor or a dictionary of tensors.
        labels: A tensor or a dictionary of tensors.
        receiver_tensors: The tensors to feed, by name.

    Raises:
        ValueError: An argument is missing, no tensor, or its key no string.
    """

    def __new__(cls, features: Any, labels: Any, receiver_tensors: Any) -> Self:
        """See the class."""
        _checked(features, "feature", may_be_int=True)
        _checked(labels, "label", may_be_int=True)
        return super().__new__(cls, features, labels, _checked(receiver_tensors, "receiver_tensor"))


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Return a function for models that are fed with serialized ``tf.train.Example`` messages.

    Args:
        feature_spec: Name -> ``FixedLenFeature`` or ``VarLenFeature``, as for ``parse_example``.
        default_batch_size: The number of examples; any if None.
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        serialized = tf.placeholder(
            tf.string, shape=[default_batch_size], name="input_example_tensor"
        )
        features = tf.parse_example(serialized, feature_spec)
        return ServingInputReceiver(features, {"examples": serialized})

    return serving_input_receiver_fn


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Return a function for models that are fed with the features themselves.

    Args:
        features: Name -> a tensor with the type and the shape of that feature.
        default_batch_size: The number of examples; any if None.
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        placeholders = _placeholders(features, default_batch_size)
        return ServingInputReceiver(placeholders, placeholders)

    return serving_input_receiver_fn


def build_raw_supervised_input_receiver_fn(
    features: Any, labels: Any, default_batch_size: int | None = None
) -> Callable[[], SupervisedInputReceiver]:
    """Return a function for graphs of training or evaluation that are fed with features and labels.

    Args:
        features: A tensor, or a dictionary of them, with types and shapes of the features.
        labels: A tensor, or a dictionary of them, with types and shapes of the labels.
        default_batch_size: The number of examples; any if None.

    Raises:
        ValueError: Features and labels have a common key.
    """
    feature_keys = set(features) if isinstance(features, dict) else {_INPUT}
    label_keys = set(labels) if isinstance(labels, dict) else {_LABEL}
    common = feature_keys & label_keys
    if common:
        raise ValueError(
            f"Features and labels must have distinct keys. Found overlapping keys: {sorted(common)}"
        )

    def supervised_input_receiver_fn() -> SupervisedInputReceiver:
        fed_features, feature_tensors = _fed(features, _INPUT, default_batch_size)
        fed_labels, label_tensors = _fed(labels, _LABEL, default_batch_size)
        return SupervisedInputReceiver(
            fed_features, fed_labels, {**feature_tensors, **label_tensors}
        )

    return supervised_input_receiver_fn


def _fed(given: Any, name: str, batch_size: int | None) -> tuple[Any, dict[str, Any]]:
    """Return placeholders in the structure of ``given``, and by name."""
    if isinstance(given, dict):
        placeholders = _placeholders(given, batch_size)
        return placeholders, placeholders
    placeholder = _placeholder(given, batch_size)
    return placeholder, {name: placeholder}


def _placeholders(tensors: Mapping[str, Any], batch_size: int | None) -> dict[str, Any]:
    return {name: _placeholder(tensor, batch_size) for name, tensor in tensors.items()}


def _placeholder(tensor: Any, batch_size: int | None) -> Any:
    shape = tf.TensorShape([batch_size]).concatenate(tensor.get_shape()[1:])
    return tf.placeholder(dtype=tensor.dtype, shape=shape, name=tensor.op.name)


def _checked(tensors: Any, what: str, may_be_int: bool = False) -> dict[Any, Any]:
    if tensors is None:
        raise ValueError(f"{what}s must be defined.")
    if not isinstance(tensors, dict):
        tensors = {_DEFAULT_NAMES[what]: tensors}
    for name, tensor in tensors.items():
        if not isinstance(name, str) and not (may_be_int and isinstance(name, int)):
            kinds = "strings or ints" if may_be_int else "strings"
            raise ValueError(f"{what} keys must be {kinds}: {name}.")
        _check_tensor(tensor, name, what)
    return dict(tensors)


def _check_tensor(tensor: Any, name: Any, what: str) -> None:
    if not isinstance(tensor, Tensor | SparseTensor):
        named = f" {name}" if name else ""
        raise ValueError(f"{what}{named} must be a Tensor or SparseTensor.")
