"""A view as one HTML file: the widget's own code, with a stand-in for the notebook."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

from tfnb.core.process.package_directory import PACKAGE_DIRECTORY
from tfnb.notebook.scenes.svg_writer import escape

STATIC = Path(PACKAGE_DIRECTORY, "notebook", "static")
_BYTES = ("_scene", "_record", "_lanes", "_states")
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def widget_page(traits: dict[str, Any], title: str) -> str:
    """Return the file's text; ``labextension/src/widget/page.ts`` makes the same in the browser.

    Args:
      traits: traits of ``views/widget.py``; missing ones are empty.
      title: the title of the page.
    """
    filled: dict[str, Any] = {"_counters": {}, "_curves": {}, "selected": "", **traits}
    for name in _BYTES:
        filled[name] = base64.b64encode(traits.get(name, b"")).decode()
    parts = {
        "title": escape(title),
        "css": (STATIC / "tfnb.css").read_text(encoding="utf-8"),
        "traits": _in_script(filled),
        "module": _in_script((STATIC / "tfnb.js").read_text(encoding="utf-8")),
    }
    template = (STATIC / "page.html").read_text(encoding="utf-8")
    return _PLACE.sub(lambda place: parts[place[1]], template)


def _in_script(value: Any) -> str:
    """Return a value as a JavaScript literal that cannot end the script around it."""
    return json.dumps(value).replace("<", "\\u003c")
