"""Whether a name of TensorFlow is there, without a run of the program that uses it."""

from __future__ import annotations

import importlib
from functools import cache
from importlib.util import find_spec

from tfnb.as_tensorflow.contrib_modules import CONTRIB, MISSING_PARTS
from tfnb.as_tensorflow.finder import served
from tfnb.as_tensorflow.internal_names import PACKAGES, internal_name
from tfnb.as_tensorflow.keras import loading as keras
from tfnb.as_tensorflow.missing_name import is_missing, reason_of
from tfnb.as_tensorflow.modules import InternalModule, ProtoModule, TensorFlowModule, why_not_served
from tfnb.as_tensorflow.older_names import OLDER_NAMES
from tfnb.as_tensorflow.stand_ins import STAND_INS
from tfnb.client import public
from tfnb.client.public import missing

# Names that a program can have and not run with -> why.
STOPS = {
    "load_op_library": "a compiled op needs TensorFlow itself",
    "load_library": "a compiled op needs TensorFlow itself",
    "load_file_system_library": "a compiled file system needs TensorFlow itself",
    "enable_eager_execution": "there is no eager mode: the program would have to build graphs",
    "enable_v2_behavior": "there is no eager mode: the program would have to build graphs",
}


@cache
def what_stops(path: str) -> str | None:
    """Return what is wrong with a name; None if it is there.

    Args:
      path: "tensorflow.nn.relu", or the name of a module.
    """
    parts = path.split(".")[1:]
    while parts[:2] in (["compat", "v1"], ["compat", "v2"]):
        parts = parts[2:]
    if not parts:
        return None
    if keras.is_internal(path):
        return _internal(path.split(".")) and keras.why_not_there()
    if keras.name_in_keras(path) is not None:
        return keras.why_not_there()
    if parts[-1] in STOPS:
        return STOPS[parts[-1]]
    head = parts[0]
    if head == "contrib":
        return _contrib(parts[1:])
    if head == "python":
        return _internal(path.split("."))
    if head in ("core", "examples"):
        return _module_and_name(path)
    if _is_of_stand_in(parts):
        return None
    return _public(parts)


def _is_of_stand_in(parts: list[str]) -> bool:
    """Return whether a public module has a stand-in with a name."""
    file = STAND_INS.get(f"tensorflow.{parts[0]}")
    if file is None or len(parts) < 2:
        return False
    module = importlib.import_module(f"tfnb.as_tensorflow.stand_ins.{file}")
    return parts[1] in vars(module)


def _public(parts: list[str]) -> str | None:
    namespace = "tf"
    names = public.names()
    for part in parts:
        if part in OLDER_NAMES.get(namespace, ()):
            return None
        if part.startswith("__") or (namespace == "tf" and part in TensorFlowModule.OWN_NAMES):
            return None
        origin = names[namespace].get(part)
        if origin is None:
            text = missing.message(namespace, part, [])
            return text.partition(": ")[2].rstrip(".") or "tfnb does not have it"
        if origin[0]:
            return None  # the rest of the path names members of an object
        namespace = origin[1]
        if namespace not in names or namespace == "raw_ops":
            return None
    return None


def _contrib(parts: list[str]) -> str | None:
    if not parts:
        return None
    part = parts[0]
    origin = CONTRIB.get(part)
    if origin is None:
        return MISSING_PARTS.get(part, "tfnb does not have this part of tf.contrib")
    if not origin.startswith("tfnb.") and find_spec(origin.partition(".")[0]) is None:
        return "type pip install 'tfnb[contrib]'"
    if len(parts) == 1 or "python" in parts:
        return None
    with served():
        try:
            module = importlib.import_module(f"tensorflow.contrib.{part}")
        except ImportError as error:
            return str(error)
        found = getattr(module, parts[1], None)
        if is_missing(found):
            return reason_of(found)
        return None if hasattr(module, parts[1]) else f"tf.contrib.{part} of tfnb lacks it"


def _internal(parts: list[str]) -> str | None:
    """Return what is wrong with a name below ``tensorflow.python``."""
    length = 2
    while length < len(parts) and ".".join(parts[: length + 1]) in PACKAGES:
        length += 1
    if length + 1 >= len(parts):
        return None  # a module
    module, name = ".".join(parts[: length + 1]), parts[length + 1]
    found = _internal_value(module, name)
    return reason_of(found) if is_missing(found) else None


def _internal_value(module: str, name: str) -> object:
    with served():
        try:
            return getattr(InternalModule(module), name)
        except (AttributeError, ImportError):
            return internal_name(module, name)


def _module_and_name(path: str) -> str | None:
    parts = path.split(".")
    for length in range(len(parts), 1, -1):
        module = ".".join(parts[:length])
        if why_not_served(module) is None and not module.startswith("tensorflow.core"):
            return None
        if parts[length - 1].endswith("_pb2"):
            if length == len(parts):
                return None
            found = getattr(ProtoModule(module), parts[length])
            return reason_of(found) if is_missing(found) else None
    return None
