"""Views as files: pages, pictures, text; with any names."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

import tfnb as tf
from tests.notebook.steps.recorded_loop import HOSTILE
from tfnb.notebook.scenes.scene import SceneNode, build_scene
from tfnb.notebook.views.export import export
from tfnb.notebook.views.table import keep
from tfnb.notebook.views.targets import TargetError
from tfnb.notebook.views.values_svg import values_table
from tfnb.notebook.views.widget import SceneWidget

if TYPE_CHECKING:
    from pathlib import Path

STRANGE = (HOSTILE, "</script><script>alert(1)</script>", "{{module}}", "a\x07b", "z" * 100_000)


def strange_file(folder: Path) -> Path:
    """Write a GraphDef with hostile names."""
    graph_def = tf.GraphDef()
    for name in STRANGE:
        node = graph_def.node.add()
        node.name, node.op = name, "NoOp"
    path = folder / "strange.pb"
    path.write_bytes(graph_def.SerializeToString())
    return path


@pytest.fixture
def ran(graph: Any) -> Any:
    """A session on two devices that has run a step."""
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/cpu:1"):
        tf.add(x, tf.constant([1.0, 2.0]) * 2.0, name="y")
    with tf.Session(graph=graph, config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run("y:0", {"x:0": [1.0, 2.0]})
        yield session


@pytest.mark.parametrize("view", ["graph", "placement", "partitions", "passes"])
def test_each_view_is_a_page(ran: Any, tmp_path: Path, view: str) -> None:
    """The page has its scene and loads nothing from outside."""
    file = export(tmp_path / "view.html", ran, view=view)
    text = file.read_text(encoding="utf-8")
    assert f'"view": "{view}"' in text
    assert not re.search(r"""(?:src|href)=["']?https?:""", text)
    assert "default-src 'none'" in text


def test_tables_are_pages_and_text(ran: Any, tmp_path: Path) -> None:
    """Partial runs, the last comparison and the last shown values can be exported."""
    ran.partial_run_setup(["y:0"], ["x:0"])
    with tf.notebook.values("y") as seen:
        ran.run("y:0", {"x:0": [1.0, 2.0]})
    keep("values", values_table(seen.seen(), ran.graph), repr(seen))
    kept = [tf.debugger.record_values(ran, "y:0", {"x:0": [n, 2.0]}) for n in (1.0, 5.0)]
    for view, expected in (("partial", "not fed"), ("compare", "y"), ("values", "6")):
        page = export(tmp_path / f"{view}.html", ran, view=view).read_text("utf-8")
        traits = json.loads(re.search(r'id="traits">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
        assert traits["_options"]["view"] == view
        assert expected in json.dumps(traits["_table"])
        assert expected in export(tmp_path / f"{view}.txt", ran, view=view).read_text("utf-8")
    del kept  # the two that were compared
    with pytest.raises(TargetError, match="not a picture"):
        export(tmp_path / "table.svg", ran, view="compare")
    with pytest.raises(TargetError, match="give one"):
        export(tmp_path / "partial.txt", "nobody", view="partial")


@pytest.mark.parametrize(("view", "expected"), [("graph", "y  Add"), ("passes", "1. pruning")])
def test_text_is_text(ran: Any, tmp_path: Path, view: str, expected: str) -> None:
    """The text is that of a terminal."""
    assert expected in export(tmp_path / "view.txt", ran, view=view).read_text("utf-8")


def test_hostile_names_break_no_file(tmp_path: Path) -> None:
    """Hostile names break neither the page's script, nor the SVG, nor lines of the text."""
    source = strange_file(tmp_path)
    page = export(tmp_path / "a.html", source).read_text(encoding="utf-8")
    assert page.count("</script>") == 2
    assert "<img" not in page
    traits = json.loads(re.search(r'id="traits">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert base64.b64decode(traits["_scene"])[:1] == b"x"
    picture = export(tmp_path / "a.svg", source).read_text(encoding="utf-8")
    root = ElementTree.fromstring(picture)
    assert {e.tag.rpartition("}")[2] for e in root.iter()}.isdisjoint({"img", "script"})
    assert len(picture) < 1_000_000
    text = export(tmp_path / "a.txt", source).read_text(encoding="utf-8")
    assert len(text.splitlines()) == 1 + len(STRANGE) + 2  # what has slashes lies in scopes


def test_what_cannot_be_written_is_said(ran: Any, tmp_path: Path) -> None:
    """Unknown endings and views, and passes as one picture, are refused."""
    with pytest.raises(TargetError, match="has to end with"):
        export(tmp_path / "view.bmp", ran)
    with pytest.raises(TargetError, match="There is no view"):
        export(tmp_path / "view.html", ran, view="nothing")
    with pytest.raises(TargetError, match="many pictures"):
        export(tmp_path / "view.svg", ran, view="passes")
    assert list(tmp_path.iterdir()) == []


def test_the_magic_writes_and_says_how_much(
    loaded: Any, ran: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The size is printed; a missing folder is a usage error."""
    loaded.user_ns["session"] = ran
    loaded.run_cell(f"%tfnb export {tmp_path}/p.html session --view partitions")
    assert re.search(r"p\.html: [\d,]+ bytes", capsys.readouterr().out)
    loaded.run_cell(f"%tfnb export {tmp_path}/none/p.html session")
    said = capsys.readouterr()
    assert "No such file" in said.out + said.err


def test_a_widget_saves_itself(tmp_path: Path) -> None:
    """A page is written at once, a PNG when the browser has drawn it."""
    widget = SceneWidget(build_scene([SceneNode("a", "NoOp")]))
    widget.save(tmp_path / "w.html")
    assert "<!DOCTYPE html>" in (tmp_path / "w.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="has to end"):
        widget.save(tmp_path / "w.jpg")
    sent: list[Any] = []
    widget.send = lambda content, buffers=None: sent.append(content)
    widget.save(tmp_path / "w.png")
    assert sent == [{"draw": "png"}]
    png = b"\x89PNG\r\n\x1a\n rest"
    for picture in (7, "no base64!", base64.b64encode(b"GIF89a").decode()):
        widget._handle_custom_msg({"picture": picture}, [])
    assert not (tmp_path / "w.png").exists()
    widget._handle_custom_msg({"picture": base64.b64encode(png).decode()}, [])
    assert (tmp_path / "w.png").read_bytes() == png


def test_a_file_is_replaced_whole_or_not_at_all(graph: Any, tmp_path: Path) -> None:
    """If writing fails, the old file stays."""
    resource = pytest.importorskip("resource")
    tf.constant(1.0)
    path = tmp_path / "g.html"
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            export(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["g.html"]
