"""The types of the parameters and results of graph-building functions; for type checking only.

A graph-building function is written with these names, a kernel with those of
``tfnb/core/kernel_types.py``::

    def relu(features: TensorLike, name: str | None = None) -> Tensor: ...

TensorFlow's functions accept many kinds of values, which only ``convert_to_tensor`` tells apart at
run time. Most names are therefore documented aliases of ``Any``; where a function takes or returns
one class (``Tensor``, ``Operation``), its annotation names that class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.tensor import Tensor

# -- tensors -------------------------------------------------------------------------------------

# A value that ``convert_to_tensor`` accepts: a Tensor, variable, array, number, text, nested list
# or object of a class with a registered conversion; a sequence of them for a list of inputs.
TensorLike: TypeAlias = Any

# The result of a function that is built from ops: a Tensor, unless the op has several outputs or
# none or the function was given a ragged or sparse value.
TensorResult: TypeAlias = Tensor | Any

# The result of a gradient function: one gradient for each input of the op, each a Tensor, an
# IndexedSlices, or None; without a sequence around it if there is one input.
Gradients: TypeAlias = Tensor | IndexedSlices | Sequence[Tensor | IndexedSlices | None] | Any

# A value, or tuples, lists and mappings of values, as ``tf.nest`` takes them apart.
Nested: TypeAlias = Any

# -- variables -----------------------------------------------------------------------------------

# A variable of any class (reference, resource, partitioned), or the reference of one.
VariableLike: TypeAlias = Any

# A function or object that makes the first value from (shape, dtype), its class, or the value.
Initializer: TypeAlias = Any

# A function from a variable to the loss that it adds; None: no loss.
Regularizer: TypeAlias = Callable[[Any], Any] | None

# A function from the updated value of a variable to the value to keep; None: the value itself.
Constraint: TypeAlias = Callable[[Any], Any] | None

# A function that is applied to a layer's result; None: no function.
Activation: TypeAlias = Callable[..., Any] | None

# A function from (shape, dtype) to the number of parts along each axis; None: one part.
Partitioner: TypeAlias = Callable[..., Sequence[int]] | None

# A function that is called in place of ``get_variable``, with the true getter as first argument;
# None: ``get_variable`` itself.
CustomGetter: TypeAlias = Callable[..., Any] | None

# -- arguments that are not tensors --------------------------------------------------------------

# Names of collections of the graph: one, or a sequence of them.
CollectionNames: TypeAlias = Any

# A device: its text, a DeviceSpec, or a function from an operation to a device.
DeviceLike: TypeAlias = Any

# One integer for all axes, or a sequence with one for each axis.
IntsLike: TypeAlias = Any

# ``"SAME"`` or ``"VALID"``, or the explicit padding as pairs of integers.
PaddingLike: TypeAlias = Any

# The path of a file or folder: text, bytes or an object with ``__fspath__``; a Tensor in a function
# that adds nodes which read or write the file.
PathLike: TypeAlias = Any

# A VariableScope or its name.
ScopeLike: TypeAlias = Any

# True: variables are found. AUTO_REUSE: found or made. False and None: as outside.
Reuse: TypeAlias = Any

# The arguments of a layer, initializer or the like as text and numbers, from ``get_config``.
Config: TypeAlias = dict[str, Any]
