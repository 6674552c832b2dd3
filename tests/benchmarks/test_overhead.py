"""docs/overhead.md is written from given figures."""

from __future__ import annotations

from benchmarks import overhead, pictures, watching
from tfnb.notebook.scenes.scene import build_scene


def test_the_document_has_every_row_and_graph() -> None:
    """Rows without and with observers are in separate tables, with the bare time."""
    times = {name: 1.0 + i / 100 for i, name in enumerate(watching.ROWS)} | {"bare": 2e-6}
    seen = [pictures.Figures("flat", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)]
    text = overhead.overhead_text({"constant": times, "loop": times}, seen, 0.5)
    assert "| never watched | 2.0 µs | 2.0 µs |" in text
    idle, _, watched = text.partition("| watched |")
    for name, (_, watches) in watching.ROWS.items():
        assert f"| {name} | {times[name]:.3f} | {times[name]:.3f} |" in (
            watched if watches else idle
        )
    assert "| flat | 1 ms | 3 ms | 2 ms | 4 ms | 5 ms | 6 ms |" in text


def test_the_bounds_are_those_of_the_document() -> None:
    """The first picture must be made within two seconds, a frame within fifty milliseconds."""
    quick = pictures.Figures("a", 900.0, 0.0, 1000.0, 49.0, 49.0, 9e9)
    assert quick.is_quick
    assert not quick._replace(make=1001.0).is_quick
    assert not quick._replace(drag=51.0).is_quick


def test_the_graphs_are_of_the_size_they_say() -> None:
    """One graph has scopes, the other has none; both have the stated number of nodes."""
    for nodes in (pictures.scoped(), pictures.flat()):
        assert len({node.name for node in nodes}) == pictures.NODES
    assert any("/" in node.name for node in pictures.scoped())
    assert not any("/" in node.name for node in pictures.flat())
    assert len(build_scene(pictures.flat()[:50]).nodes) == 50
