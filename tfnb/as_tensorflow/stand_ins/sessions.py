"""``tensorflow.python.client.session``: types that a session fetches and feeds."""

from __future__ import annotations

from tfnb.client.session import conversions

register_session_run_conversion_functions = conversions.register_session_run_conversion_functions
