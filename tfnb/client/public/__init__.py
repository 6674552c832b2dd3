"""The public names, ``tf.nn.relu`` and all others, each imported when it is first used.

``table.py`` maps each name to a module; ``scripts/generate_public_names.py`` writes it from the
``EXPORTS`` of the modules. ``resolve`` imports that module and returns the object; a ``Namespace``
(``tf.nn``) stores resolved objects. With the same table, the op registry finds the family to import
for an op that a GraphDef names.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from types import ModuleType
from typing import Any

from tfnb.client.public import missing
from tfnb.client.public.other_names import OTHER_NAMES
from tfnb.client.public.table import OPS, TABLE
from tfnb.core import op_registry, provided
from tfnb.core.process.collector_pause import imported

_OPS_PACKAGES = ("tfnb.ops", "tfnb.library")
# Importing these gives tensors their operators and converts lists of tensors, so they are imported
# with the first op that a program calls, operator that it uses, or value that it converts.
_BASE_FAMILIES = (
    "tfnb.ops.math.math_ops",
    "tfnb.ops.array.slice_ops",
    "tfnb.ops.array.concat_ops",
)

# Namespaces that can also be called: in TensorFlow it is a module, in tfnb also a function.
_FUNCTIONS = {"summary": ("tfnb.client.model_summary", "summary")}

# (module, name in it); an empty name means the module itself
Origin = tuple[str, str]


def parse_exports(exports: dict[str, Any], module: str) -> dict[str, dict[str, Origin]]:
    """Return namespace -> public name -> origin, from one module's ``EXPORTS``.

    >>> parse_exports({"tf": ["matmul", "neg:negative"]}, "m")
    {'tf': {'matmul': ('m', 'matmul'), 'neg': ('m', 'negative')}}
    """
    found: dict[str, dict[str, Origin]] = {}
    for namespace, names in exports.items():
        for entry in names.split() if isinstance(names, str) else names:
            public, _, local = entry.partition(":")
            found.setdefault(namespace, {})[public] = (
                module,
                local if ":" in entry else public,
            )
    return found


@cache
def names() -> dict[str, dict[str, Origin]]:
    """Return namespace -> public name -> origin, of the whole table."""
    return {namespace: names_in(namespace) for namespace in _parts()}


@cache
def names_in(namespace: str) -> dict[str, Origin]:
    """Return public name -> origin, of one namespace; a process uses few of them."""
    found: dict[str, Origin] = {}
    for module, exports in _parts().get(namespace, ()):
        found |= parse_exports({namespace: exports}, module)[namespace]
    for inner in _parts():
        # tf.a.b is a name of tf.a, and tf.a one of tf.
        parent, _, name = inner.rpartition(".")
        if inner != "tf" and (parent or "tf") == namespace:
            found[name] = ("", inner)
    return found


@cache
def _parts() -> dict[str, list[tuple[str, str]]]:
    """Return namespace -> the modules that have names in it, with the text of the table."""
    merged: dict[str, list[tuple[str, str]]] = {}
    for module, exports in (*OTHER_NAMES.items(), *TABLE.items()):
        for namespace, text in exports.items():
            merged.setdefault(namespace, []).append((module, text))
    merged["raw_ops"] = []
    for namespace in list(merged):
        while "." in namespace:
            namespace = namespace.rpartition(".")[0]
            merged.setdefault(namespace, [])
    return merged


def resolve(namespace: str, name: str) -> Any:
    """Return the object ``tf.<namespace>.<name>``.

    Raises:
        AttributeError: The name does not exist; the error names a replacement, if there is one.
    """
    if namespace == "raw_ops":
        return getattr(namespace_module(namespace), name)
    origin = names_in(namespace).get(name)
    if origin is None:
        known = names_in(namespace)
        raise AttributeError(missing.message(namespace, name, sorted(known)))
    module_name, local = origin
    if not module_name:
        return namespace_module(local)
    if module_name.startswith(_OPS_PACKAGES):
        _import_base_families()
    module = imported(module_name)
    return getattr(module, local) if local else module


class Namespace(ModuleType):
    """A namespace like ``tf.nn``: a module whose members are imported when first used."""

    def __init__(self, namespace: str) -> None:
        super().__init__(f"tfnb.{namespace}", f"The names of tf.{namespace}.")
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        value = resolve(self._namespace, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted(public_names(self._namespace))

    def __reduce__(self) -> tuple[Any, ...]:
        # Functions that are sent to other processes name it.
        return namespace_module, (self._namespace,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function of the namespace, as in ``tfnb.summary(file)``; most have none.

        Raises:
            TypeError: This namespace is only a module.
        """
        origin = _FUNCTIONS.get(self._namespace)
        if origin is None:
            raise TypeError(f"'tf.{self._namespace}' is a module and cannot be called.")
        return getattr(importlib.import_module(origin[0]), origin[1])(*args, **kwargs)


# Argument names of TensorFlow's Python functions that differ from those of the op.
_AXIS = {"axis": "reduction_indices"}
RENAMED_ARGUMENTS = {
    **dict.fromkeys(("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"), _AXIS),
    "ExpandDims": {"axis": "dim"},
    "Select": {"x": "t", "y": "e"},
    "Split": {"axis": "split_dim"},
    "SplitV": {"axis": "split_dim"},
    "Squeeze": {"axis": "squeeze_dims"},
    "Where": {"condition": "input"},
}


class RawOps(Namespace):
    """``tf.raw_ops``: every registered op under its own name, arguments by keyword only."""

    def __getattr__(self, name: str) -> Any:
        definition = None if name.startswith("__") else op_registry.find(name)
        if definition is None:
            raise AttributeError(missing.message("raw_ops", name, []))

        names = RENAMED_ARGUMENTS.get(name, {})

        def build(**arguments: Any) -> Any:
            return definition(**{names.get(key, key): value for key, value in arguments.items()})

        build.__name__ = build.__qualname__ = name
        build.__doc__ = definition.__doc__
        setattr(self, name, build)
        return build

    def __dir__(self) -> list[str]:
        return sorted(n for n in op_registry.all_ops() if not n.startswith("_"))


@cache
def namespace_module(namespace: str) -> ModuleType:
    """Return the module object of a namespace, which can be imported as ``tfnb.<namespace>``."""
    module = RawOps(namespace) if namespace == "raw_ops" else Namespace(namespace)
    sys.modules.setdefault(module.__name__, module)
    return module


def install(package: ModuleType) -> None:
    """Make every namespace importable as a submodule, and ``compat.v1`` the package itself."""
    for namespace in _parts():
        if namespace != "tf":
            namespace_module(namespace)
    compat = namespace_module("compat")
    compat.v1 = sys.modules[f"{package.__name__}.compat.v1"] = package  # type: ignore[attr-defined]


def public_names(namespace: str) -> set[str]:
    """Return all names of a namespace, for ``dir`` and completion; import nothing."""
    if namespace == "raw_ops":
        return {op for ops in OPS.values() for op in ops.split() if not op.startswith("_")}
    return set(names_in(namespace))


def import_family(op_name: str) -> None:
    """Import the module that registers an op; "" imports all of them."""
    if not op_name:
        for module in OPS:
            imported(module)
        return
    family = _family_of_op().get(op_name)
    if family is not None:
        imported(family)


@cache
def _family_of_op() -> dict[str, str]:
    return {op: module for module, ops in OPS.items() for op in ops.split()}


def _import_base_families() -> None:
    for module in _BASE_FAMILIES:
        imported(module)  # also waits for a thread that imports it now


def _provided_function(name: str) -> Any:
    found = importlib.import_module("tfnb.library.provides").find(name)
    # Importing these gives tensors their operators, which the function may use.
    _import_base_families()
    return found


op_registry.add_loader(import_family)
provided.set_source(_provided_function)
