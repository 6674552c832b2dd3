"""A recorded step as one HTML file: the widget's own code, with a stand-in for the notebook."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tfnb.notebook.svg_writer import escape

if TYPE_CHECKING:
    from tfnb.notebook.run_record import RunRecord

_STATIC = Path(__file__).parent / "static"

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; "
    "style-src 'unsafe-inline'"
)
# The widget asks a model for its traits; here they never change.  Nothing is loaded from outside.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ margin: 16px auto; max-width: 1200px; padding: 0 16px; }}
{css}
</style>
</head>
<body>
<div id="view"></div>
<script type="application/json" id="traits">{traits}</script>
<script type="module">
const source = {module};
const url = URL.createObjectURL(new Blob([source], {{ type: "text/javascript" }}));
const widget = (await import(url)).default;
const traits = JSON.parse(document.getElementById("traits").textContent);
for (const name of ["_scene", "_record", "_states"]) {{
  const text = atob(traits[name]);
  traits[name] = new DataView(Uint8Array.from(text, (c) => c.charCodeAt(0)).buffer);
}}
const model = {{
  get: (name) => traits[name],
  set: (name, value) => {{ traits[name] = value; }},
  save_changes: () => {{}},
  on: () => {{}},
  off: () => {{}},
}};
widget.render({{ model, el: document.getElementById("view") }});
</script>
</body>
</html>
"""


def record_html(record: RunRecord, height: int) -> str:
    """The file's text.

    Args:
      record: the step.
      height: of the drawing of the graph, in CSS pixels.
    """
    traits = {
        "_scene": base64.b64encode(record.scene.encode()).decode(),
        "_record": base64.b64encode(record.encode()).decode(),
        "_states": "",
        "_counters": {},
        "_options": {"view": "run", "colourBy": "kind", "height": height},
        "selected": "",
    }
    return _PAGE.format(
        title=escape(f"Step {record.step_id}"),
        policy=_POLICY,
        css=(_STATIC / "tfnb.css").read_text(encoding="utf-8"),
        traits=json.dumps(traits),
        module=_in_script((_STATIC / "tfnb.js").read_text(encoding="utf-8")),
    )


def _in_script(text: str) -> str:
    """A text as a JavaScript literal that cannot end the script it stands in."""
    return json.dumps(text).replace("<", "\\u003c")
