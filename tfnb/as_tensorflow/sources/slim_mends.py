"""What of tf-slim is changed as it is loaded."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tfnb.as_tensorflow.sources.mending import Mend

_MENDS = (
    Mend(
        "scikit-learn",
        "it takes seconds to import, and only measures of clusters use it",
        ("tf_slim.losses.metric_learning",),
        (
            (
                r"^(\s+metrics = importlib\.import_module\()'sklearn\.metrics'\)",
                rf"\1'{__name__}').later_module('sklearn.metrics')",
            ),
        ),
    ),
    Mend(
        "slices of partitioned variables",
        "NumPy takes a tuple of slices as an index, and no list",
        ("tf_slim.ops.variables",),
        ((r"\bckpt_value\[slice_dims\]", "ckpt_value[tuple(slice_dims)]"),),
    ),
)
# Module of tf-slim -> its changes.
MENDED: dict[str, tuple[Mend, ...]] = {
    module: tuple(mend for mend in _MENDS if module in mend.modules)
    for module in {module for mend in _MENDS for module in mend.modules}
}


class _LaterModule(ModuleType):
    """A module that is imported when a name of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


def later_module(name: str) -> ModuleType:
    """Return what imports a module when a name of it is used.

    Args:
      name: of the module.

    Raises:
      ModuleNotFoundError: its package is not installed.
    """
    package = name.partition(".")[0]
    if find_spec(package) is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return _LaterModule(name)
