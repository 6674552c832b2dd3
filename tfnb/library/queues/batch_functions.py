"""``tf.nondifferentiable_batch_function``: a function that is called for batches of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.functions.function import DefinedFunction
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.ops.waiting.batch_function_ops import batch_function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"tf": ["nondifferentiable_batch_function"]}


def nondifferentiable_batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
    enable_large_batch_splitting: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator: the function is called for batches, padded to an allowed size.

    The requests of one step are a batch of their own. The function takes tensors whose first
    dimension is that of the batch, and returns tensors with this dimension.

    Args:
      num_batch_threads: stored in the node only; the step's own thread calls the function.
      max_batch_size: the maximum number of rows of a batch, and of a step's request.
      batch_timeout_micros: stored in the node only; TensorFlow waits this time for other callers.
      allowed_batch_sizes: the possible sizes of batches; the last one is ``max_batch_size``.
      max_enqueued_batches: stored in the node only; TensorFlow's limit of waiting batches.
      autograph: accepted; Python's ``if`` and ``while`` are not rewritten.
      enable_large_batch_splitting: whether a step's request may be larger than a batch.
    """

    def decorator(function: Callable[..., Nested]) -> Callable[..., Any]:
        def decorated(*args: Any) -> Any:
            with name_scope("batch"):
                tensors = [convert_to_tensor(one) for one in args]
            structures: list[TensorLike] = []

            def computation(*parts: Any) -> TensorResult:
                for part, tensor in zip(parts, tensors):
                    if tensor.shape.ndims:
                        part.set_shape([None, *tensor.shape.as_list()[1:]])
                found = function(*parts)
                structures.append(found)
                return nest.flatten(found)

            types = [tensor.dtype.base_dtype for tensor in tensors]
            names = [f"batch_{number}" for number in range(len(tensors))]
            made = DefinedFunction(computation, names, types)
            made.add_to_graph(get_default_graph())
            outputs = batch_function(
                tensors,
                made.captured_inputs,
                f=made,
                num_batch_threads=num_batch_threads,
                max_batch_size=max_batch_size,
                batch_timeout_micros=batch_timeout_micros,
                allowed_batch_sizes=list(allowed_batch_sizes or ()),
                max_enqueued_batches=max_enqueued_batches,
                enable_large_batch_splitting=enable_large_batch_splitting,
                Tout=[dtypes.as_dtype(one.type) for one in made.definition.signature.output_arg],
            )
            return nest.pack_sequence_as(structures[-1], list(outputs))

        return decorated

    return decorator
