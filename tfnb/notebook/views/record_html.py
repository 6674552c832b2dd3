"""A recorded step as one HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.notebook.views.widget_page import widget_page

if TYPE_CHECKING:
    from tfnb.notebook.steps.run_record import RunRecord


def record_traits(record: RunRecord, height: int) -> dict[str, Any]:
    """Return the widget's traits that show the step.

    Args:
      record: the step.
      height: height of the graph's drawing, in CSS pixels.
    """
    return {
        "_scene": record.scene.encode(),
        "_record": record.encode(),
        "_lanes": b"" if record.lanes is None else record.lanes.encode(),
        "_options": {"view": "run", "colourBy": "kind", "height": height, "group": record.group},
    }


def record_html(record: RunRecord, height: int) -> str:
    """Return the file's text."""
    return widget_page(record_traits(record, height), f"Step {record.step_id}")
