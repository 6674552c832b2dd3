"""``tf.contrib.learn.utils.input_fn_utils``: the inputs of models to serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class InputFnOps(NamedTuple):
    """What a function of inputs to serve returns.

    Args:
      features: key -> tensor, for the model.
      labels: None.
      default_inputs: key -> placeholder.
    """

    features: Any
    labels: Any
    default_inputs: Any

    @property
    def receiver_tensors(self) -> Any:
        """The placeholders, as ``tf.estimator`` calls them."""
        return self.default_inputs


def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Return a function of serialized examples.

    Args:
      feature_spec: of ``tf.parse_example``.
      default_batch_size: the number of examples; any by default.
    """

    def input_fn() -> InputFnOps:
        examples = tf.placeholder(tf.string, [default_batch_size], "input_example_tensor")
        return InputFnOps(tf.parse_example(examples, feature_spec), None, {"examples": examples})

    return input_fn


def build_default_serving_input_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Return a function of tensors like some.

    Args:
      features: key -> tensor with a batch dimension.
      default_batch_size: the number of examples; any by default.
    """

    def input_fn() -> InputFnOps:
        found = {
            key: tf.placeholder(
                value.dtype, [default_batch_size, *value.shape.as_list()[1:]], value.op.name
            )
            for key, value in features.items()
        }
        return InputFnOps(found, None, found)

    return input_fn
