"""Examples as the input of classifiers and regressors, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.proto.classification_pb2 import ClassificationResult
from tfnb.proto.input_pb2 import Input
from tfnb.proto.regression_pb2 import RegressionResult
from tfnb.serving.json_tensors import decoded_b64

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.client.model_function import ModelFunction
    from tfnb.proto.example_pb2 import Example, Feature

_CLASSES, _SCORES, _VALUES = "classes", "scores", "outputs"
_INT64 = 2**63


def input_of_json(body: Mapping[str, Any]) -> Input:
    """Return the examples of a REST request.

    Raises:
        InvalidArgumentError: The request has none, or they are not valid.
    """
    listed = body.get("examples")
    if not isinstance(listed, list) or not listed:
        raise errors.invalid_argument(
            "'examples' must be a list with at least one example, as in "
            '{"examples": [{"x": 1.0}]}'
        )
    found = Input()
    context = body.get("context")
    if context is not None:
        _fill(found.example_list_with_context.context, context, "context")
    target = found.example_list if context is None else found.example_list_with_context
    for number, example in enumerate(listed):
        _fill(target.examples.add(), example, f"Example {number}")
        both = sorted(set(example) & set(context or ()))
        if both:
            raise errors.invalid_argument(
                f"Example {number} has features of the context: {', '.join(both)}."
            )
    return found


def _fill(example: Example, features: Any, what: str) -> None:
    if not isinstance(features, dict):
        raise errors.invalid_argument(f"{what} must be an object of features.")
    for name, value in features.items():
        try:
            _fill_feature(example.features.feature[name], value)
        except (ValueError, TypeError, OverflowError) as error:
            raise errors.invalid_argument(f"{what}, feature {name!r}: {error}") from None


def _fill_feature(feature: Feature, value: Any) -> None:
    values = value if isinstance(value, list) else [value]
    if all(isinstance(one, bool | int) and -_INT64 <= one < _INT64 for one in values):
        feature.int64_list.value.extend(int(one) for one in values)
    elif all(isinstance(one, bool | int | float) for one in values):
        feature.float_list.value.extend(float(one) for one in values)
    elif all(isinstance(one, str | dict) for one in values):
        feature.bytes_list.value.extend(
            decoded_b64(one) if isinstance(one, dict) else one.encode() for one in values
        )
    else:
        raise ValueError("it must be numbers, or strings, or a list of one of both")


def serialized_examples(given: Input) -> list[bytes]:
    """Return the examples as bytes, each with the features of the context.

    Raises:
        InvalidArgumentError: There are none.
    """
    kind = given.WhichOneof("kind")
    if kind == "example_list_with_context":
        several = given.example_list_with_context
        context = several.context.SerializeToString()
        # Fields of messages that are joined are merged: the example's features come last.
        found = [context + one.SerializeToString() for one in several.examples]
    else:
        found = [one.SerializeToString() for one in given.example_list.examples]
    if not found:
        raise errors.invalid_argument("Input is empty: it must have at least one example.")
    return found


def value_of_examples(function: ModelFunction, given: Input) -> dict[str, Any]:
    """Return the input of a classifier or regressor.

    Raises:
        InvalidArgumentError: The function takes no examples.
    """
    inputs = list(function.inputs.values())
    if len(inputs) != 1 or inputs[0].dtype != dtypes.string:
        raise errors.invalid_argument(
            f"The signature {function.key!r} does not take serialized examples; its inputs are "
            f"{function.described()}. Use predict."
        )
    serialized = serialized_examples(given)
    array = np.empty(len(serialized), object)
    array[:] = serialized
    return {inputs[0].key: array}


def classification(outputs: Mapping[str, Any], num_examples: int) -> ClassificationResult:
    """Return the classes of examples.

    Raises:
        InvalidArgumentError: The outputs have no row for each example.
    """
    labels, scores = outputs.get(_CLASSES), outputs.get(_SCORES)
    if labels is None and scores is None:
        raise errors.invalid_argument(
            f"Expected classification outputs {_CLASSES!r} or {_SCORES!r}; there are "
            f"{', '.join(outputs)}."
        )
    for key, array in ((_CLASSES, labels), (_SCORES, scores)):
        if array is not None and (array.ndim != 2 or len(array) != num_examples):
            raise errors.invalid_argument(
                f"Expected the output {key!r} to have shape [{num_examples}, num_classes], but it "
                f"has {np.shape(array)}."
            )
    if labels is not None and scores is not None and labels.shape != scores.shape:
        raise errors.invalid_argument(
            f"The outputs {_CLASSES!r} {labels.shape} and {_SCORES!r} {scores.shape} differ in "
            "shape."
        )
    found = ClassificationResult()
    for number in range(num_examples):
        classes = found.classifications.add().classes
        names: Sequence[Any] = () if labels is None else labels[number]
        values: Sequence[float] = () if scores is None else scores[number].tolist()
        names = names if labels is not None else [b""] * len(values)
        values = values if scores is not None else [0.0] * len(names)
        for name, value in zip(names, values):
            text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
            classes.add(label=text, score=value)
    return found


def regression(outputs: Mapping[str, Any], num_examples: int) -> RegressionResult:
    """Return the values of examples.

    Raises:
        InvalidArgumentError: The output has no value for each example.
    """
    values = outputs.get(_VALUES)
    if values is None:
        raise errors.invalid_argument(
            f"Expected the regression output {_VALUES!r}; there are {', '.join(outputs)}."
        )
    if np.shape(values) not in ((num_examples,), (num_examples, 1)):
        raise errors.invalid_argument(
            f"Expected the output {_VALUES!r} to have shape [{num_examples}] or "
            f"[{num_examples}, 1], but it has {np.shape(values)}."
        )
    found = RegressionResult()
    for value in np.asarray(values, np.float64).ravel().tolist():
        found.regressions.add(value=value)
    return found
