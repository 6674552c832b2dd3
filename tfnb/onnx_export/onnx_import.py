"""onnx and onnxruntime, imported on first use: ``import tfnb`` neither needs them nor pays."""

from __future__ import annotations

import importlib
from typing import Any

from tfnb.core import errors


def import_onnx(module: str = "onnx") -> Any:
    """Return a module.

    Args:
      module: its name, ``onnx`` or ``onnxruntime`` for example.

    Raises:
      UnimplementedError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        wanted = "tfnb[onnx]" if package == "onnx" else package
        raise errors.unimplemented(
            f"This needs {package}, which is not installed: pip install '{wanted}'"
        ) from error
