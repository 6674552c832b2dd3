"""The types of a kernel's parameters and results; imported for type checking only.

A kernel computes with arrays, and a graph-building function adds nodes. Their types tell them
apart: a kernel is written with the names of this module, a graph-building function with those of
``tfnb/framework/tensor_types.py``::

    def relu(xp: Xp, features: Array) -> Array: ...

CuPy has no types, and NumPy and CuPy have no common class of arrays. ``Array`` and the aliases
after it are therefore documented names of ``Any``. ``Xp`` is checked: it is a module.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeAlias

# The array module of the device on which a kernel runs: numpy or cupy.
Xp: TypeAlias = ModuleType

# The value of a tensor: a NumPy or CuPy array, or a NumPy scalar for a tensor of rank 0.
Array: TypeAlias = Any

# The value of an attribute whose kind depends on the node, or another setting of a kernel's helper.
# An attribute of a fixed kind has the type of its values: bool, int, float, str, DType,
# TensorShape.
Attr: TypeAlias = Any

# The value of a tensor of type resource or of a reference: a ResourceHandle, a RefCell, or the
# resource itself if it exists for one step only.
Handle: TypeAlias = Any

# The value of a tensor of type variant: an object of the op family that makes it (a dataset, a
# tensor list, an optional).
Variant: TypeAlias = Any

# All outputs of a kernel with several outputs or a list of outputs: a tuple or a list of values.
Outputs: TypeAlias = Any
