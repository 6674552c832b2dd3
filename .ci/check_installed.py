"""Checks of an installed wheel in a JupyterLab without Node; with `kernel`, in any Jupyter."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

LIMIT_S = 120
CELL = """%load_ext tfnb
import tfnb as tf
tf.get_default_session().run(tf.constant(1.0, name="one"))
%tfnb graph
"""
WIDGET = "application/vnd.jupyter.widget-view+json"


def extension_complaints() -> list[str]:
    """Return errors of `jupyter labextension list` about the extension."""
    command = [sys.executable, "-m", "jupyter", "labextension", "list"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    listed = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    if re.search(r"^\s*tfnb v\S+ enabled\s+OK", listed, re.MULTILINE):
        return []
    return [f"`jupyter labextension list` does not show tfnb as enabled:\n{listed}"]


def widget_complaints() -> list[str]:
    """Return errors of the widget that a cell shows."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(startup_timeout=LIMIT_S)
    outputs: list[dict[str, object]] = []

    def note(message: dict[str, object]) -> None:
        outputs.append(message)

    try:
        reply = client.execute_interactive(CELL, output_hook=note, timeout=LIMIT_S)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    if reply["content"]["status"] != "ok":
        return [f"a cell failed: {reply['content'].get('evalue')}"]
    return [] if WIDGET in str(outputs) else [f"%tfnb graph shows no widget: {outputs}"]


def main() -> None:
    """Check the tfnb of this Python."""
    found = widget_complaints()
    if "kernel" not in sys.argv:
        found += extension_complaints()
    if shutil.which("node"):
        found.append("Node is within reach, so this shows nothing")
    if found:
        sys.exit("; ".join(found))
    sys.stdout.write("As it should be\n")


if __name__ == "__main__":
    main()
