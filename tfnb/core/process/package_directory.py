"""The names of files whose code is tfnb's own, not the user's."""

from __future__ import annotations

import os

# With a separator at its end. The depth follows from the module's name, so that moves keep it.
PACKAGE_DIRECTORY = os.path.abspath(__file__).rsplit(os.sep, __name__.count("."))[0] + os.sep

EMITTED = "<tfnb "
"""The beginning of the file names of functions that are written for steps."""
