"""``tensorflow.python.util.tf_inspect``: Python's ``inspect``, through decorators."""

from __future__ import annotations

import inspect
from collections import namedtuple
from inspect import (
    Parameter,
    Signature,
    currentframe,
    getargvalues,
    getcallargs,
    getdoc,
    getfile,
    getmembers,
    getmodule,
    getmro,
    getsource,
    isabstract,
    isbuiltin,
    isclass,
    isfunction,
    isgenerator,
    ismethod,
    ismodule,
    isroutine,
    signature,
    stack,
)
from typing import Any

__all__ = [
    "ArgSpec", "FullArgSpec", "Parameter", "Signature", "currentframe", "fn_args", "getargspec",
    "getargvalues", "getcallargs", "getdoc", "getfile", "getfullargspec", "getmembers",
    "getmodule", "getmro", "getsource", "isabstract", "isbuiltin", "isclass", "isfunction",
    "isgenerator", "ismethod", "ismodule", "isroutine", "signature", "stack",
]  # fmt: skip

# Python 3.11 dropped it; Keras and others compare with it.
ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")  # noqa: PYI024
FullArgSpec = inspect.FullArgSpec


def fn_args(fn: Any) -> tuple[str, ...]:
    """Return the names of a function's arguments; without ``self`` for a method."""
    return tuple(
        name
        for name, one in inspect.signature(fn).parameters.items()
        if one.kind is not Parameter.VAR_POSITIONAL and one.kind is not Parameter.VAR_KEYWORD
    )


def getfullargspec(target: Any) -> inspect.FullArgSpec:
    """Return the arguments of a function, or of the one that decorators wrap.

    tfnb's own functions seem to have no annotations, as TensorFlow's have none: libraries compare
    them with functions of theirs.
    """
    inner = inspect.unwrap(target)
    full = inspect.getfullargspec(inner)
    is_ours = str(getattr(inner, "__module__", "")).partition(".")[0] == "tfnb"
    return full._replace(annotations={}) if is_ours else full


def getargspec(target: Any) -> ArgSpec:
    """Return positional arguments and defaults of a function, as Python 2 did."""
    full = getfullargspec(target)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)
