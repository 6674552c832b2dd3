"""``tf.sysconfig``: how this build was made. It is Python, so that there is little to say.

``get_include``, ``get_lib``, ``get_compile_flags`` and ``get_link_flags`` are not there: no C++ can
be compiled against tfnb. An op of one's own is written in Python.
"""

from __future__ import annotations

from typing import Any

_FLAGS = ["CXX11_ABI_FLAG", "CXX_VERSION", "MONOLITHIC_BUILD"]
EXPORTS = {"sysconfig": ["get_build_info", *_FLAGS], "tf": _FLAGS}

CXX11_ABI_FLAG = 0
CXX_VERSION = 0
MONOLITHIC_BUILD = 0


def get_build_info() -> dict[str, Any]:
    """Return what was built in: whether GPUs are reached through CUDA, and nothing else."""
    from tfnb.client.testing.testing import is_built_with_cuda

    return {
        "is_cuda_build": is_built_with_cuda(),
        "is_rocm_build": False,
        "is_tensorrt_build": False,
    }
