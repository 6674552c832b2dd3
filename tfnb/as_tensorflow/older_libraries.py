"""Names that NumPy, SciPy and Python have dropped since TensorFlow 1, for ``tfnb run``.

Programs of that time use them as they use TensorFlow. They are given back to a program that
``tfnb run`` starts, never to a process that only imports tfnb.
"""

from __future__ import annotations

import builtins
import collections
import collections.abc
import functools
import importlib
import inspect
import sys
import time
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.as_tensorflow.sources.older_calls import ProgramFinder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Name of NumPy -> what it was another name of: a type of Python, or a newer name.
_TYPES = ("int", "float", "bool", "complex", "object", "str")
_NUMPY = {
    "bool8": "bool_",
    "int0": "intp",
    "uint0": "uintp",
    "object0": "object_",
    "str0": "str_",
    "bytes0": "bytes_",
    "void0": "void",
    "float_": "float64",
    "complex_": "complex128",
    "unicode_": "str_",
    "string_": "bytes_",
    "Inf": "inf",
    "Infinity": "inf",
    "infty": "inf",
    "PINF": "inf",
    "cfloat": "complex128",
    "singlecomplex": "complex64",
    "longfloat": "longdouble",
    "mat": "asmatrix",
    "rank": "ndim",
    "NaN": "nan",
    "NAN": "nan",
    "product": "prod",
    "cumproduct": "cumprod",
    "sometrue": "any",
    "alltrue": "all",
    "row_stack": "vstack",
    "round_": "round",
    "trapz": "trapezoid",
}
# Names of numpy.exceptions and of numpy that numpy and numpy.lib had.
_EXCEPTIONS = ("AxisError", "ComplexWarning", "RankWarning", "VisibleDeprecationWarning")
_OF_LIB = ("average", "flip", "meshgrid", "pad", "tile", "unique")
_ABSTRACT = (
    "Callable Container Hashable ItemsView Iterable Iterator KeysView Mapping MappingView "
    "MutableMapping MutableSequence MutableSet Sequence Set Sized ValuesView"
)
# Module that is gone -> where its names are today.
_MOVED = {
    "scipy.misc": "tfnb.as_tensorflow.scipy_misc",
    "sklearn.cross_validation": "sklearn.model_selection",
    "sklearn.externals.joblib": "joblib",
}
# The same, below a module that is no package any more: no finder is asked for it.
_MOVED_BELOW_A_MODULE = {"scipy.sparse.linalg.eigen.arpack": "scipy.sparse.linalg"}


_NINF = -np.inf


class ArgSpec(NamedTuple):
    """What ``inspect.getargspec`` returned."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def _getargspec(func: Callable[..., Any]) -> ArgSpec:
    found = inspect.getfullargspec(func)
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


def _asscalar(a: Any) -> Any:
    return np.asarray(a).item()


def _in1d(ar1: Any, ar2: Any, **options: Any) -> Any:
    return np.isin(np.ravel(ar1), ar2, **options)


def _msort(a: Any) -> Any:
    return np.sort(a, axis=0)


def _asfarray(a: Any, dtype: Any = np.float64) -> Any:
    found = np.dtype(dtype)
    return np.asarray(a, dtype=found if np.issubdtype(found, np.inexact) else np.float64)


def _array_of_old(array: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``numpy.array`` that does not fail where NumPy 1 did not.

    ``copy=False`` copies if it has to; rows of different lengths become objects.
    """

    @functools.wraps(array)
    def as_before(*given: Any, **options: Any) -> Any:
        try:
            return array(*given, **options)
        except ValueError as error:
            text = str(error)
            if "Unable to avoid copy" in text and options.get("copy") is False:
                return as_before(*given, **{**options, "copy": None})
            if "inhomogeneous" in text and len(given) < 2 and options.get("dtype") is None:
                return array(*given, **{**options, "dtype": object})
            raise
        except OverflowError:
            return _wrapped(array, *given, **options)

    return as_before


def _wrapped(array: Callable[..., Any], value: Any, dtype: Any = None, **options: Any) -> Any:
    """Return integers that are too large for their type without their upper bits."""
    return array(array(value, **options).astype(dtype), **options)


def _reshape_of_old(reshape: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``numpy.reshape`` whose shape may be named ``newshape``, as before NumPy 2.4."""

    @functools.wraps(reshape)
    def as_before(*given: Any, **options: Any) -> Any:
        if "newshape" in options:
            options["shape"] = options.pop("newshape")
        return reshape(*given, **options)

    return as_before


def _fromstring_of_old(fromstring: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``numpy.fromstring`` that reads bytes, too, as before NumPy 2.3."""

    @functools.wraps(fromstring)
    def as_before(
        string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", **options: Any
    ) -> Any:
        if sep != "":
            return fromstring(string, dtype, count, sep=sep, **options)
        data = string.encode("latin-1") if isinstance(string, str) else string
        return np.frombuffer(data, dtype, count, **options).copy()

    return as_before


def _list_of_old(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives a list, as before NumPy 2, and no tuple."""

    @functools.wraps(function)
    def as_before(*given: Any, **options: Any) -> Any:
        return list(function(*given, **options))

    return as_before


def _list_of_several(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives a list where it has several results."""

    @functools.wraps(function)
    def as_before(*given: Any) -> Any:
        found = function(*given)
        return list(found) if isinstance(found, tuple) else found

    return as_before


# Function of NumPy -> what changes it.
_OF_OLD = {
    "array": _array_of_old,
    "reshape": _reshape_of_old,
    "fromstring": _fromstring_of_old,
    "meshgrid": _list_of_old,
    "broadcast_arrays": _list_of_old,
    "atleast_1d": _list_of_several,
    "atleast_2d": _list_of_several,
    "atleast_3d": _list_of_several,
}


class _Moved(ModuleType):
    """A module under its older name; the newer one is imported when a name is used."""

    def __init__(self, name: str, newer: str) -> None:
        super().__init__(name)
        self._newer = newer

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(self._newer), name)


class _MovedFinder(MetaPathFinder, Loader):
    """Finds modules under their older names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that moved, and None for all others."""
        return ModuleSpec(fullname, self, origin="tfnb") if fullname in _MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Moved(spec.name, _MOVED[spec.name])

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are found when they are used."""


_FINDER = _MovedFinder()
_OF_PROGRAM = ProgramFinder()
# An attribute of the functions of NumPy that are changed.
_MARK = "_changed_by_tfnb"


def serve_older_names() -> None:
    """Give NumPy, SciPy and Python the names that they dropped; names that are there stay."""
    for name in _TYPES:
        _give(np, name, builtins, name)
    _give(np, "unicode", builtins, "str")
    for name, newer in _NUMPY.items():
        _give(np, name, np, newer)
    for name in _EXCEPTIONS:
        _give(np, name, np.exceptions, name)
    for name in _ABSTRACT.split():
        _give(collections, name, collections.abc, name)
    _give(time, "clock", time, "perf_counter")
    own = sys.modules[__name__]
    for name in ("asfarray", "asscalar", "in1d", "msort"):
        _give(np, name, own, f"_{name}")
    _give(np, "NINF", own, "_NINF")
    _give(inspect, "getargspec", own, "_getargspec")
    for name, of_old in _OF_OLD.items():
        current = getattr(np, name)
        if not hasattr(current, _MARK):
            changed = of_old(current)
            setattr(changed, _MARK, True)
            setattr(np, name, changed)
    for name in _OF_LIB:
        _give(np.lib, name, np, name)
    if _FINDER not in sys.meta_path:
        # Behind the finder of TensorFlow, which has changes of its own for some modules.
        place = next((n for n, one in enumerate(sys.meta_path) if one is PathFinder), 0)
        sys.meta_path[place:place] = [_FINDER, _OF_PROGRAM]
    for name, newer in _MOVED_BELOW_A_MODULE.items():
        sys.modules.setdefault(name, _Moved(name, newer))


def are_served() -> bool:
    """Return whether the names were given in this process."""
    return _FINDER in sys.meta_path


def _give(module: ModuleType, name: str, source: ModuleType, newer: str) -> None:
    """Give a module a name that it lacks; NumPy's own messages about it end."""
    if name not in vars(module) and hasattr(source, newer):
        setattr(module, name, getattr(source, newer))
