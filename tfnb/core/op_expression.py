"""What a kernel computes, as a line of Python: for functions that are written out.

An op that says so where it is registered runs without a call of its kernel::

    add_v2.expression("{x} + {y}")
    floor_mod.expression("{x} % {y} if {y} else {kernel}", types=INTEGERS, scalars_only=True)

Ops that work on large arrays of floats may also say how they write their result somewhere, so that
several of them run tile by tile::

    add_v2.tile("{add}({x}, {y}, out={out})", add=np.add)

An expression gives what the kernel gives, to the last bit, for every input it is allowed for.
Unless it says otherwise the op works element by element: of scalars it makes a scalar.  Where it
raises, the kernel is called with the same inputs and says what is wrong.
``tests/ops/test_expressions.py`` holds each expression to its kernel.

Ops of a resource that lives for a step say what is to be called where a variable of the function
holds the resource itself, and its handle is nowhere::

    stack_push_v2.held("Stack", "{handle}.push({elem})", gives="elem")
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Attr

_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(slots=True, frozen=True)
class Expression:
    """One way to write an op.

    Attributes:
      text: inputs by name in braces; ``{kernel}`` is a call of the kernel with all inputs.
      types: the values of the attribute ``T`` that it is for; None: all.
      scalars_only: whether every input must be of rank 0.
      names: what else stands in braces: functions and constants.
      vector: of a tile, the input that has a number for each entry of the last dimension; "" if
        inputs are taken as they come.
      attrs: the values of attributes that it is for.
      is_elementwise: whether it makes a scalar of scalars.
    """

    text: str
    types: frozenset[DType] | None = None
    scalars_only: bool = False
    names: Mapping[str, Any] = field(default_factory=dict)
    vector: str = ""
    attrs: Mapping[str, Attr] = field(default_factory=dict)
    is_elementwise: bool = True

    @property
    def calls_kernel(self) -> bool:
        """Whether it calls the kernel."""
        return "kernel" in fields_of(self.text)

    def is_for(self, attrs: Mapping[str, Attr]) -> bool:
        """Whether it is for a node with these attributes."""
        return all(
            attrs.get(name) in ((value, value.encode()) if isinstance(value, str) else (value,))
            for name, value in self.attrs.items()
        )

    def write(self, args: Mapping[str, str], call: str, names: Mapping[str, str]) -> str:
        """The expression over variables.

        Args:
          args: variable by input.
          call: a call of the kernel.
          names: variable by name of ``self.names``.
        """

        def replace(found: re.Match[str]) -> str:
            name = found[1]
            return call if name == "kernel" else args.get(name) or names[name]

        return _FIELD.sub(replace, self.text)


@dataclass(slots=True, frozen=True)
class HeldUse:
    """An op of a resource that a variable holds in place of the handle.

    Attributes:
      kind: of the resource.
      text: what uses it, with inputs and attributes in braces; "" where the kernel is called, with
        the resource for the handle.
      gives: the input that is the last output as well.
      names: what else stands in braces.
    """

    kind: str
    text: str
    gives: str
    names: Mapping[str, Any]

    @property
    def fields(self) -> frozenset[str]:
        """What stands in braces."""
        return fields_of(self.text)


@functools.cache
def fields_of(text: str) -> frozenset[str]:
    """Return the names that stand in braces.

    >>> sorted(fields_of("{x} + {y}"))
    ['x', 'y']
    """
    return frozenset(_FIELD.findall(text))


def fill(text: str, names: Mapping[str, str]) -> str:
    """A text with everything in braces replaced."""
    return _FIELD.sub(lambda found: names[found[1]], text)
