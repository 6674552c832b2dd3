"""The modules below ``tensorflow``: which there are, and what each has."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tfnb.as_tensorflow.contrib_modules import CONTRIB, MISSING_PARTS
from tfnb.as_tensorflow.internal_names import PACKAGES, internal_name
from tfnb.as_tensorflow.keras import loading as keras
from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.as_tensorflow.older_names import OLDER_NAMES, note_newer_name
from tfnb.as_tensorflow.stand_ins import STAND_INS
from tfnb.client import public
from tfnb.core.process.package_version import __version__

VERSION = "1.15.5"
_NO_MODULE = ": tfnb has no module for it. `tfnb doctor` lists what a program needs"
_NOTHING = object()
_STAND_INS = "tfnb.as_tensorflow.stand_ins."
# Folders that have only modules below them.
_FOLDERS = frozenset(("tensorflow.examples", "tensorflow.examples.tutorials"))


def why_not_served(name: str) -> str | None:
    """Return why a module is not there, as the end of a message; None if it can be made."""
    parts = name.split(".")[1:]
    if not parts or name in _FOLDERS or name in STAND_INS:
        return None
    head = parts[0]
    if head == "compat":
        rest = parts[2:] if parts[1:2] in (["v1"], ["v2"]) else parts[1:]
        return None if _is_namespace(rest) else _NO_MODULE
    if head == "python":
        return None
    if head == "core":
        is_folder = "_" not in parts[-1]  # tensorflow.core.framework
        return None if is_folder or parts[-1].endswith("_pb2") else _NO_MODULE
    if head == "contrib":
        return _why_no_contrib(parts[1:])
    return None if _is_namespace(parts) else _NO_MODULE


def _is_namespace(parts: list[str]) -> bool:
    return not parts or ".".join(parts) in public.names()


def _why_no_contrib(parts: list[str]) -> str | None:
    if not parts:
        return None
    part = parts[0]
    found = CONTRIB.get(part)
    if found is None:
        known = MISSING_PARTS.get(part)
        return f": {known}" if known else ": tfnb does not have this part of tf.contrib"
    package = found.partition(".")[0]
    if package != "tfnb" and find_spec(package) is None:
        return (
            f": it comes from the package {package.replace('_', '-')}; "
            "type pip install 'tfnb[contrib]'"
        )
    return None


def make(name: str) -> ModuleType:
    """Return a new module of that name."""
    parts = name.split(".")[1:]
    if not parts:
        return TensorFlowModule(name, "tf")
    if name in STAND_INS and not name.startswith("tensorflow.python"):
        return Alias(name, importlib.import_module(_STAND_INS + STAND_INS[name]))
    if name in _FOLDERS:
        return Folder(name)
    head, rest = parts[0], parts[1:]
    if head == "compat" and rest:
        return _of_version(name, rest[1:]) if rest[0] in ("v1", "v2") else View(name, name[11:])
    if head == "python":
        return KerasInternalModule(name) if keras.is_internal(name) else InternalModule(name)
    if head == "core":
        return ProtoModule(name) if name.endswith("_pb2") else Folder(name)
    if head == "contrib":
        return _contrib(name, rest)
    return View(name, ".".join(parts))


def _of_version(name: str, rest: list[str]) -> ModuleType:
    if rest:
        view = Version2View if name.startswith("tensorflow.compat.v2.") else View
        return view(name, ".".join(rest))
    return Version2Module(name, "tf") if name.endswith(".v2") else TensorFlowModule(name, "tf")


def _contrib(name: str, parts: list[str]) -> ModuleType:
    if not parts:
        return Folder(name)
    # contrib/layers/python/layers/layers.py: what a part offers is also in its files.
    origin = CONTRIB[parts[0]]
    inner = [part for part in parts[1:] if part not in ("python", "ops", "layers", parts[0])]
    paths = [parts[1:], *(inner[:length] for length in range(len(inner), -1, -1))]
    for path in (".".join([origin, *path]) for path in paths):
        try:
            return Alias(name, importlib.import_module(path))
        except ModuleNotFoundError as error:
            if error.name is None or not path.startswith(error.name):
                raise
            missing = error
    raise missing


class View(ModuleType):
    """A namespace of tfnb (``tf.nn``) as a module of TensorFlow, with the names of before 1.0."""

    def __init__(self, name: str, namespace: str) -> None:
        super().__init__(name, f"The names of {name}, served by tfnb.")
        self._namespace = namespace
        self.__tfnb__ = __version__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        newer = OLDER_NAMES.get(self._namespace, {}).get(name)
        if newer is not None:
            note_newer_name(self._namespace, name, newer)
            value = newer.value()
        else:
            value = self._find(name)
        setattr(self, name, value)
        return value

    def _find(self, name: str) -> Any:
        if self._namespace == "compat" and name in ("v1", "v2"):
            return importlib.import_module(f"{self.__name__}.{name}")
        value = public.resolve(self._namespace, name)
        if isinstance(value, public.Namespace):
            # app.flags is the namespace flags
            inner = value.__name__.partition(".")[2]
            root = self.__name__.removesuffix(f".{self._namespace}")
            return importlib.import_module(f"{root}.{inner}")
        return value

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *public.public_names(self._namespace)})


class TensorFlowModule(View):
    """``tensorflow`` itself, and ``tensorflow.compat.v1``."""

    # Names that are no part of a namespace.
    OWN_NAMES = frozenset(("newaxis", "VERSION", "GIT_VERSION", "COMPILER_VERSION"))
    _SUBMODULES = frozenset(("autograph", "compat", "contrib", "core", "examples", "python", "tpu"))

    def __init__(self, name: str, namespace: str) -> None:
        super().__init__(name, namespace)
        self.__version__ = self.VERSION = VERSION
        self.__git_version__ = self.GIT_VERSION = "tfnb"
        self.__compiler_version__ = self.COMPILER_VERSION = "none"
        self.__cxx11_abi_flag__ = self.__monolithic_build__ = 0
        self.newaxis = None

    def _find(self, name: str) -> Any:
        if name == "keras":
            return _keras()
        if name in self._SUBMODULES:
            return importlib.import_module(f"tensorflow.{name}")
        if name == "version":
            found = importlib.import_module(f"{self.__name__}.version")
            found.VERSION = VERSION  # type: ignore[attr-defined]
            return found
        return super()._find(name)


# Functions of tf and tf.math that have no older names of arguments in version 2: libraries hand
# all arguments on by their places.
_REDUCTIONS = frozenset(
    f"reduce_{name}"
    for name in ("all", "any", "euclidean_norm", "logsumexp", "max", "mean", "min", "prod", "sum")
)


def _of_version_2(name: str, function: Any) -> Any:
    """Return a function of tf or tf.math with the arguments of version 2."""
    if name in ("ones_like", "zeros_like"):
        return _likeness_of_version_2(function)
    if name not in _REDUCTIONS:
        return function

    @functools.wraps(function)
    def reduce(
        input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Any:
        return function(input_tensor, axis=axis, keepdims=keepdims, name=name)

    del reduce.__wrapped__  # its arguments are those of version 1
    return reduce


def _likeness_of_version_2(function: Any) -> Any:
    """Return ``zeros_like`` or ``ones_like`` with the arguments of version 2."""

    @functools.wraps(function)
    def like(input: Any, dtype: Any = None, name: str | None = None) -> Any:
        return function(input, dtype, name)

    del like.__wrapped__
    return like


class Version2View(View):
    """A namespace of ``tensorflow.compat.v2``."""

    def _find(self, name: str) -> Any:
        found = super()._find(name)
        return _of_version_2(name, found) if self._namespace == "math" else found


class Version2Module(TensorFlowModule):
    """``tensorflow.compat.v2``: the names of TensorFlow 1, but for these."""

    _NEWER = {"where": "where_v2"}  # noqa: RUF012

    def _find(self, name: str) -> Any:
        if name == "optimizers":
            return _keras().optimizers
        return _of_version_2(name, super()._find(self._NEWER.get(name, name)))


def _keras() -> ModuleType:
    """Return Keras; a program that asks whether it is there gets an AttributeError if not."""
    try:
        return importlib.import_module("tensorflow.keras")
    except ModuleNotFoundError as error:
        if error.name != "tensorflow.keras":
            raise
        raise AttributeError(str(error)) from None


class Folder(ModuleType):
    """A module that has only modules below it, which are imported when they are used."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__tfnb__ = __version__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        try:
            return importlib.import_module(f"{self.__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{self.__name__}.{name}":
                raise
            raise AttributeError(str(error)) from None


class Alias(ModuleType):
    """A module of another package under a name of TensorFlow."""

    def __init__(self, name: str, target: ModuleType) -> None:
        super().__init__(name, target.__doc__)
        self._target = target
        self.__tfnb__ = __version__

    def __getattr__(self, name: str) -> Any:
        try:
            value = getattr(self._target, name)
        except AttributeError:
            value = self._module_below(name)
            if value is None:
                raise
        setattr(self, name, value)
        return value

    def _module_below(self, name: str) -> ModuleType | None:
        """Return a module of a package that none has imported so far, as ``slim.nets``."""
        if name.startswith("_") or not hasattr(self._target, "__path__"):
            return None
        full = f"{self._target.__name__}.{name}"
        return importlib.import_module(full) if find_spec(full) is not None else None

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(self._target)})


class InternalModule(ModuleType):
    """A module of ``tensorflow.python``: stand-ins, then public names, then ops.

    A name that is none of these is refused when it is used.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__tfnb__ = __version__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = self._find(name)
        setattr(self, name, value)
        return value

    def _find(self, name: str) -> Any:
        own = self.__name__
        file = STAND_INS.get(own)
        if file is not None:
            stand_in = importlib.import_module(_STAND_INS + file)
            found = getattr(stand_in, name, _NOTHING)
            if found is not _NOTHING:
                return found
        inner = f"{own}.{name}"
        is_folder = own in PACKAGES
        if inner in PACKAGES or inner in STAND_INS or (is_folder and name == name.lower()):
            return importlib.import_module(inner)
        return internal_name(own, name)


class KerasInternalModule(InternalModule):
    """A module below ``tensorflow.python.keras``: what Keras has, then as its kin."""

    def _find(self, name: str) -> Any:
        found = keras.internal_value(self.__name__, name, _NOTHING)
        return super()._find(name) if found is _NOTHING else found


class ProtoModule(ModuleType):
    """A module of messages, ``tensorflow.core.framework.graph_pb2``."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__tfnb__ = __version__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = _message(self.__name__.rpartition(".")[2], name)
        if value is None:
            value = missing_name(self.__name__, name, "tfnb does not have this message")
        setattr(self, name, value)
        return value


def _message(file: str, name: str) -> Any:
    """Return a message, an enumeration or one of its values, wherever tfnb declares it."""
    files = _message_files()
    for candidate in [file] * (file in files) + [one for one in files if one != file]:
        module = importlib.import_module(f"tfnb.proto.{candidate}")
        if name in vars(module):
            return vars(module)[name]
    return None


@cache
def _message_files() -> tuple[str, ...]:
    import tfnb.proto

    found = pkgutil.iter_modules(tfnb.proto.__path__)
    return tuple(sorted(one.name for one in found if one.name.endswith("_pb2")))
