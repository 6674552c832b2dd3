"""``python -m tfnb``: the command line."""

from __future__ import annotations

import sys

from tfnb.client.command_line.main import main

if __name__ == "__main__":
    sys.exit(main())
