"""The public names for this room: ``tf.nn.relu`` without an import of the whole package.

The package imports the notebook's room for its magics, which this room may not import.
"""

from __future__ import annotations

from typing import Any

from tfnb.client import public


class _PublicNames:
    def __getattr__(self, name: str) -> Any:
        return public.resolve("tf", name)


tf: Any = _PublicNames()
