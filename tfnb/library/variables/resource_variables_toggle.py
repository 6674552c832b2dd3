"""Whether a variable is a resource variable if the call does not choose.

TensorFlow 1 makes reference variables by default.
"""

from __future__ import annotations

EXPORTS = {
    "tf": ["enable_resource_variables", "disable_resource_variables", "resource_variables_enabled"]
}

_enabled = False


def enable_resource_variables() -> None:
    """Make resource variables from now on."""
    global _enabled
    _enabled = True


def disable_resource_variables() -> None:
    """Make reference variables from now on."""
    global _enabled
    _enabled = False


def resource_variables_enabled() -> bool:
    """Return whether resource variables are made."""
    return _enabled
