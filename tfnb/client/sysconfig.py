"""``tf.sysconfig``: how this build was made; as it is pure Python, there is little data.

``get_include``, ``get_lib``, ``get_compile_flags`` and ``get_link_flags`` do not exist: no C++ can
be compiled against tfnb. Custom ops are written in Python.
"""

from __future__ import annotations

from typing import Any

_FLAGS = ["CXX11_ABI_FLAG", "CXX_VERSION", "MONOLITHIC_BUILD"]
EXPORTS = {"sysconfig": ["get_build_info", *_FLAGS], "tf": _FLAGS}

CXX11_ABI_FLAG = 0
CXX_VERSION = 0
MONOLITHIC_BUILD = 0


def get_build_info() -> dict[str, Any]:
    """Return the build's properties: only whether GPUs are accessed through CUDA."""
    from tfnb.client.testing.testing import is_built_with_cuda

    return {
        "is_cuda_build": is_built_with_cuda(),
        "is_rocm_build": False,
        "is_tensorrt_build": False,
    }
