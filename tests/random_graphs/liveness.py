"""When a tensor is alive: a formula over the predicates of Switches.

A formula is a set of alternatives, an alternative a set of literals ``(predicate, side)``;
``ALWAYS`` has one alternative without literals. ``None`` means "unknown", and a tensor with it is
never merged, because of two live inputs of a Merge the first to arrive wins.
"""

from __future__ import annotations

Formula = frozenset[frozenset[tuple[str, bool]]]

ALWAYS: Formula = frozenset([frozenset()])
_MAX_ALTERNATIVES = 6


def literal(predicate: str, side: bool) -> Formula:
    """Return the formula: alive where the predicate has this value."""
    return frozenset([frozenset([(predicate, side)])])


def both(a: Formula | None, b: Formula | None) -> Formula | None:
    """Return the formula: alive where both are."""
    if a is None or b is None:
        return None
    found = frozenset(x | y for x in a for y in b if not _contradict(x, y))
    return found if len(found) <= _MAX_ALTERNATIVES else None


def are_exclusive(a: Formula | None, b: Formula | None) -> bool:
    """Return whether the two are never alive together."""
    return a is not None and b is not None and all(_contradict(x, y) for x in a for y in b)


def either(a: Formula, b: Formula) -> Formula | None:
    """Return the formula: alive where one of two exclusive formulas is."""
    alternatives = set(a | b)
    joined = True
    while joined:
        joined = False
        for x in sorted(alternatives, key=sorted):
            for predicate, side in sorted(x):
                rest = x - {(predicate, side)}
                if rest | {(predicate, not side)} in alternatives:
                    alternatives -= {x, rest | {(predicate, not side)}}
                    alternatives.add(rest)
                    joined = True
                    break
            if joined:
                break
    return frozenset(alternatives) if len(alternatives) <= _MAX_ALTERNATIVES else None


def implies(a: Formula | None, b: Formula | None) -> bool:
    """Return whether ``b`` is alive whenever ``a`` is."""
    return a is not None and b is not None and all(any(y <= x for y in b) for x in a)


def _contradict(x: frozenset[tuple[str, bool]], y: frozenset[tuple[str, bool]]) -> bool:
    return any((predicate, not side) in y for predicate, side in x)
