"""The condition under which a node is alive: a set of literals that must all hold.

A literal is (register, side): the predicate in the register is true or false.  For a register
marked by ``PRESENCE``, the predicate is whether it holds a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

type_of_literal = tuple[str, bool]
type_of_condition = frozenset[type_of_literal]

PRESENCE: Final = "has "
ALWAYS: Final[type_of_condition] = frozenset()


def both(
    one: type_of_condition | None, other: type_of_condition | None
) -> type_of_condition | None:
    """Return the condition under which both hold; None: never."""
    if one is None or other is None:
        return None
    if not other or one == other:
        return one
    if not one:
        return other
    found = one | other
    for name, side in other:
        if (name, not side) in found:
            return None
    return found


def union(conditions: Iterable[type_of_condition]) -> type_of_condition | None:
    """Return the single condition that says that one of some exclusive ones holds, or None."""
    left = list(dict.fromkeys(conditions))
    while len(left) > 1:
        found = None
        for number, one in enumerate(left):
            for other in left[:number]:
                shared = one & other
                if len(one) == len(other) == len(shared) + 1:
                    (name, side), (other_name, other_side) = *(one - shared), *(other - shared)
                    if name == other_name and side != other_side:
                        found = (one, other, shared)
        if found is None:
            return None
        left = [one for one in left if one not in found[:2]]
        left.append(found[2])
    return left[0]
