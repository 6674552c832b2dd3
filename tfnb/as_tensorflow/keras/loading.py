"""Where the modules of Keras come from: the installed package, mended as it is loaded.

``tensorflow.keras.layers`` is the module ``keras.layers`` itself, so that layers, models and
tensors of both can be mixed.
"""

from __future__ import annotations

import importlib
import re
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.keras.mends import mends_of
from tfnb.as_tensorflow.sources.mending import MendingLoader, mended_spec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

# Packages that import Keras' modules, or hand them on.
PACKAGES = ("keras", "keras_applications", "keras_preprocessing")
# Names under which TensorFlow has Keras.
_PREFIXES = (
    "tensorflow.keras",
    "tensorflow.compat.v1.keras",
    "tensorflow.python.keras",
    "tensorflow.contrib.keras",
)
_INTERNAL = "tensorflow.python.keras"
# Modules of tf.keras that Keras does not have; programs use their names without Keras.
_ONLY_IN_TENSORFLOW = frozenset(
    ("base_layer_utils", "input_spec", "losses_utils", "mode_keys", "tf_utils")
)
_OLDEST, _NEXT = (2, 2), (2, 4)
INSTALL = "type pip install 'tfnb[keras]'"
# Packages that Keras imports and needs.
_NEEDED = ("keras_applications", "keras_preprocessing", "six", "scipy", "yaml")


def is_package(name: str) -> bool:
    """Return whether a module belongs to Keras' packages."""
    return name.partition(".")[0] in PACKAGES


def name_in_keras(name: str) -> str | None:
    """Return Keras' name of a module of TensorFlow: keras.layers of tensorflow.keras.layers."""
    for prefix in _PREFIXES:
        if name == prefix or name.startswith(f"{prefix}."):
            return "keras" + name[len(prefix) :]
    return None


def is_internal(name: str) -> bool:
    """Return whether a module is below ``tensorflow.python.keras``."""
    return name == _INTERNAL or name.startswith(f"{_INTERNAL}.")


def internal_value(module: str, name: str, default: Any) -> Any:
    """Return what a name of a module below ``tensorflow.python.keras`` is in Keras.

    Args:
      module: a module of TensorFlow.
      name: a name in it.
      default: what to return where Keras does not have the module or the name.
    """
    spec = PathFinder.find_spec("keras")
    if spec is None or spec.origin is None or why_not_there() is not None:
        return default
    own = name_in_keras(module)
    assert own is not None
    file = Path(spec.origin).parent.joinpath(*own.split(".")[1:])
    if _is_module(file / name):
        return importlib.import_module(f"{module}.{name}")
    if name in _ONLY_IN_TENSORFLOW or not _is_module(file):
        return default
    return getattr(importlib.import_module(own), name, default)


def _is_module(path: Path) -> bool:
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def why_not_there() -> str | None:
    """Return what to install where Keras 2 cannot be imported; None if it can."""
    spec = PathFinder.find_spec("keras")
    if spec is None or spec.origin is None:
        return f"it comes from the package keras; {INSTALL}"
    source = Path(spec.origin).read_text("utf-8")
    found = re.search(r"^__version__ = ['\"](\d+)\.(\d+)", source, re.MULTILINE)
    if found is None or not _OLDEST <= (int(found[1]), int(found[2])) < _NEXT:
        version = _installed_version() if found is None else f"{found[1]}.{found[2]}"
        return f"Keras {version} is installed, and TensorFlow 1 needs Keras 2.2 or 2.3; {INSTALL}"
    for package in _NEEDED:
        if PathFinder.find_spec(package) is None:
            return f"Keras needs the package {package.replace('yaml', 'pyyaml')}; {INSTALL}"
    return None


def _installed_version() -> str:
    from importlib import metadata

    try:
        return metadata.version("keras")
    except metadata.PackageNotFoundError:
        return "of an unknown version"


def find_module(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Return the spec of a module of Keras' packages.

    Raises:
      ModuleNotFoundError: Keras 2 is not installed; the message says what to install.
    """
    if name == "keras":
        reason = why_not_there()
        if reason is not None:
            raise ModuleNotFoundError(f"No module named 'keras': {reason}", name=name)
    if name in _LATER_MODULES:
        return ModuleSpec(name, _LATER, origin="keras")
    return mended_spec(name, path, mends_of(name))


# Module that only TensorFlow's Keras has -> the module of Keras with its names.
_LATER_MODULES = {"keras.engine.input_spec": "keras.engine.base_layer"}


class _LaterModuleLoader(Loader):
    """Gives a module of TensorFlow's own Keras, which tf-slim imports."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make the module."""

    def exec_module(self, module: ModuleType) -> None:
        source = importlib.import_module(_LATER_MODULES[module.__name__])
        vars(module).update(
            {name: value for name, value in vars(source).items() if not name.startswith("_")}
        )


_LATER = _LaterModuleLoader()


class _SameModuleLoader(Loader):
    """Gives a module of Keras under a name of TensorFlow."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make the module that ``exec_module`` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        name = name_in_keras(module.__name__)
        assert name is not None
        sys.modules[module.__name__] = importlib.import_module(name)


_SAME = _SameModuleLoader()


def find_same_module(name: str) -> ModuleSpec | None:
    """Return the spec of a module of ``tensorflow.keras``, which is Keras' module.

    None if Keras does not have it.

    Raises:
      ModuleNotFoundError: Keras 2 is not installed; the message says what to install.
    """
    own = name_in_keras(name)
    assert own is not None
    loaded = sys.modules.get("keras")
    if loaded is None or own == "keras":
        _check(name, loaded)
    if own not in sys.modules and not _exists(own):
        return None
    return ModuleSpec(name, _SAME, origin="keras", is_package=True)


def _check(name: str, loaded: ModuleType | None) -> None:
    reason = why_not_there()
    if reason is None and loaded is not None and not _is_ours(loaded):
        reason = (
            "keras was imported before tfnb answered `import tensorflow`; start a new process "
            "(in a notebook: restart the kernel), and switch on tfnb first"
        )
    if reason is not None:
        raise ModuleNotFoundError(f"No module named {name!r}: {reason}", name=name)


def _is_ours(module: ModuleType) -> bool:
    return module.__spec__ is not None and isinstance(module.__spec__.loader, MendingLoader)


def _exists(name: str) -> bool:
    package, _, last = name.rpartition(".")
    if not package:
        return True
    try:
        path = importlib.import_module(package).__path__
    except (ModuleNotFoundError, AttributeError):
        return False
    return PathFinder.find_spec(f"{package}.{last}", path) is not None
