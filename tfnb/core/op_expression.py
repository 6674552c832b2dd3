"""Kernels as Python expressions, for functions that are emitted as Python source.

An op that registers an expression runs without a call of its kernel::

    add_v2.expression("{x} + {y}")
    floor_mod.expression("{x} % {y} if {y} else {kernel}", types=INTEGERS, scalars_only=True)

Ops that work on large arrays of floats may also register how they write their result into a given
array, so that several of them run tile by tile::

    add_v2.tile("{add}({x}, {y}, out={out})", add=np.add)

An expression returns exactly the kernel's result, to the last bit, for every input it is allowed
for.  By default the op works element by element: it makes a scalar from scalars.  Where the
expression raises, the kernel is called with the same inputs and raises the proper error.
``tests/ops/test_expressions.py`` compares each expression with its kernel.

Ops of a resource that exists for one step register the call to make where a variable of the emitted
function holds the resource itself, and its handle is not used elsewhere::

    stack_push_v2.held("Stack", "{handle}.push({elem})", gives="elem")

An op whose kernel reads shapes, axes or the like from inputs may register a function that makes the
kernel for values known beforehand, and reads them once::

    @reshape_op.with_constants("shape")
    def _(shape):
        return lambda tensor: ...

The kernel made gives the result of the op's own kernel for every other input, or its error. It
runs on a CPU; None says that the values are better left to the op's own kernel.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tfnb.core.process.later import pattern_later
from tfnb.core.process.records import field, record

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Attr

_FIELD = pattern_later(r"\{(\w+)\}")


@record(slots=True, frozen=True)
class Expression:
    """One way to write an op.

    Attributes:
      text: inputs by name in braces; ``{kernel}`` is a call of the kernel with all inputs.
      types: the values of the attribute ``T`` that it is valid for; None: all.
      scalars_only: whether every input must be of rank 0.
      names: the functions and constants used in braces.
      vector: for a tile, the input that has one number for each entry of the last dimension; "" if
        no input is treated in this way.
      attrs: the values of attributes that it is valid for.
      is_elementwise: whether it makes a scalar from scalars.
      is_new: whether its result is a number, or an array that nothing else has.
    """

    text: str
    types: frozenset[DType] | None = None
    scalars_only: bool = False
    names: Mapping[str, Any] = field(default_factory=dict)
    vector: str = ""
    attrs: Mapping[str, Attr] = field(default_factory=dict)
    is_elementwise: bool = True
    is_new: bool = True

    @property
    def calls_kernel(self) -> bool:
        """Whether it calls the kernel."""
        return "kernel" in fields_of(self.text)

    def is_for(self, attrs: Mapping[str, Attr]) -> bool:
        """Return whether it is valid for a node with these attributes."""
        return have_values(attrs, self.attrs)

    def write(self, args: Mapping[str, str], call: str, names: Mapping[str, str]) -> str:
        """Return the expression over variables.

        Args:
          args: variable by input.
          call: a call of the kernel.
          names: variable by name of ``self.names``.
        """

        def replace(found: re.Match[str]) -> str:
            name = found[1]
            return call if name == "kernel" else args.get(name) or names[name]

        return _FIELD.sub(replace, self.text)


@record(slots=True, frozen=True)
class HeldUse:
    """An op that uses a resource which a local variable holds in place of the handle.

    Attributes:
      kind: the kind of the resource.
      text: the call, with inputs and attributes in braces; "" where the kernel is called, with
        the resource for the handle.
      gives: the input that is also the last output.
      names: the functions and constants used in braces.
    """

    kind: str
    text: str
    gives: str
    names: Mapping[str, Any]

    @property
    def fields(self) -> frozenset[str]:
        """What stands in braces."""
        return fields_of(self.text)


def have_values(attrs: Mapping[str, Attr], wanted: Mapping[str, Attr]) -> bool:
    """Return whether a node's attributes have these values; text may be stored as bytes.

    >>> have_values({"data_format": b"NCHW", "T": 1}, {"data_format": "NCHW"})
    True
    """
    return all(
        attrs.get(name) in ((value, value.encode()) if isinstance(value, str) else (value,))
        for name, value in wanted.items()
    )


@record(slots=True, frozen=True)
class ConstantKernel:
    """How an op's kernel is made for constants.

    Attributes:
      inputs: the names of the inputs that are constants.
      make: the function from their values, and attributes by keyword, to a function of the other
        inputs, or to None.
    """

    inputs: tuple[str, ...]
    make: Callable[..., Any]


@functools.cache
def fields_of(text: str) -> frozenset[str]:
    """Return the names that stand in braces.

    >>> sorted(fields_of("{x} + {y}"))
    ['x', 'y']
    """
    return frozenset(_FIELD.findall(text))


def fill(text: str, names: Mapping[str, str]) -> str:
    """Return a text with everything in braces replaced."""
    return _FIELD.sub(lambda found: names[found[1]], text)
