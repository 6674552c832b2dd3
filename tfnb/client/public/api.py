"""The public names as one object: ``tf.nn.relu`` in rooms that may not import the whole package.

The package itself leads to the notebook's room, for its magics.
"""

from __future__ import annotations

from typing import Any

from tfnb.client import public


class _PublicNames:
    def __getattr__(self, name: str) -> Any:
        return public.resolve("tf", name)


tf: Any = _PublicNames()
