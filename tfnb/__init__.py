"""tfnb: TensorFlow 1 graphs and sessions, at home in a notebook.

``import tfnb as tf`` takes the place of ``import tensorflow.compat.v1 as tf``. Every public name is
imported when it is first used (:mod:`tfnb.client.public`), so that importing the package costs
little.
"""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from typing import Any as _Any

from tfnb.core.process.collector_pause import imported as _imported
from tfnb.core.process.module_finder import install as _install_finder
from tfnb.core.process.numpy_threads import import_numpy as _import_numpy
from tfnb.core.process.package_version import __version__ as __version__

_install_finder(_sys.modules[__name__])
_import_numpy()
_public = _imported("tfnb.client.public")

# The build of TensorFlow, for programs that print it; tfnb contains no C++.
__git_version__ = "tfnb"
__compiler_version__ = "none"
__cxx11_abi_flag__ = 0
__monolithic_build__ = 0

newaxis = None


def load_ipython_extension(ipython: _Any) -> None:
    """Register magics and rich display, for ``%load_ext tfnb``."""
    from tfnb.notebook import load_ipython_extension as load

    load(ipython)


def unload_ipython_extension(ipython: _Any) -> None:
    """Remove magics and rich display, for ``%unload_ext tfnb``."""
    from tfnb.notebook import unload_ipython_extension as unload

    unload(ipython)


def __getattr__(name: str) -> _Any:
    if name == "notebook":  # tfnb.notebook.graph(...), without an import of its own
        return _importlib.import_module("tfnb.notebook")
    value = _public.resolve("tf", name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_public.public_names("tf")})


# Makes `import tfnb.nn` and `import tfnb.compat.v1 as tf` work without files of that name.
_public.install(_sys.modules[__name__])
_imported("tfnb.client.common_parts")
