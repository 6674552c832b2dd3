"""Dask, imported on first use: ``import tfnb`` neither needs it nor pays for it."""

from __future__ import annotations

import importlib
from typing import Any

from tfnb.core import errors


def import_dask(module: str = "distributed") -> Any:
    """Return a module of Dask.

    Args:
      module: its name, ``distributed`` or ``dask.array`` for example.

    Raises:
      UnimplementedError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = " 'dask[dataframe]'" if module == "dask.dataframe" else ""
        raise errors.unimplemented(
            f"This needs {module}, which is not installed: pip install 'tfnb[dask]'{extra}"
        ) from error
