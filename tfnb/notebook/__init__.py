"""The notebook's side of tfnb: pictures, magics, live views.  Nothing below this room knows that it exists."""

from __future__ import annotations
