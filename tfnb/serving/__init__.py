"""A model as a service that speaks TensorFlow Serving's REST and gRPC.

``serve`` starts it in a thread, ``tfnb serve-model`` in a process. Nothing of aiohttp and gRPC is
imported before.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "ModelServer": "tfnb.serving.model_server",
    "ServedModel": "tfnb.serving.served_model",
    "ServingOptions": "tfnb.serving.serving_options",
    "serve": "tfnb.serving.background_server",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
