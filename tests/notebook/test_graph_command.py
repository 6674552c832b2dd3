"""``tfnb graph``: pictures of model files, written from a shell."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tfnb.__main__ import main
from tfnb.notebook.scenes.png_writer import MOST_PIXELS, PngWriter

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Write a model with scopes, a control edge, and an unregistered op."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.name_scope("layer"):
            y = tf.nn.relu(x * 2.0, name="relu")
        with tf.control_dependencies([y]):
            tf.no_op(name="done")
    graph_def = graph.as_graph_def()
    strange = graph_def.node.add()
    strange.name, strange.op = "strange", "Unheard"
    path = tmp_path / "model.pb"
    path.write_bytes(graph_def.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        (".svg", b"<svg "),
        (".html", b"<!"),
        (".png", b"\x89PNG"),
        (".dot", b"digraph"),
        (".txt", b"model.pb"),
    ],
)
def test_a_graph_is_drawn_in_every_form(
    form: str, begins: bytes, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The suffix determines the format; nothing is imported or run."""
    out = tmp_path / f"picture{form}"
    assert main(["graph", str(model), "-o", str(out)]) == 0
    data = out.read_bytes()
    assert data.lower().startswith(begins.lower())
    if form not in (".png", ".html"):  # a page holds the scene deflated
        assert b"layer" in data
        assert b"strange" in data
    assert capsys.readouterr().err == f"{out}: 6 nodes\n"


def test_the_picture_is_painted(model: Path, tmp_path: Path) -> None:
    """The PNG has the SVG's size with double resolution, and the colours of the kinds."""
    assert main(["graph", str(model), "-o", str(tmp_path / "a.svg")]) == 0
    assert main(["graph", str(model), "-o", str(tmp_path / "a.png")]) == 0
    from PIL import Image

    svg = (tmp_path / "a.svg").read_text()
    image = Image.open(tmp_path / "a.png")
    width = re.search(r'width="([\d.]+)"', svg)
    assert width is not None
    assert image.width == int(float(width[1]) * 2)
    colours = {colour for _, colour in image.getcolors(maxcolors=1 << 16) or []}
    assert (0xDD, 0xF0, 0xF1) in colours  # an input
    assert (0x9A, 0xA1, 0xAC) in colours  # an edge


@pytest.mark.slow
def test_a_huge_picture_gets_coarser() -> None:
    """A wide graph gets a lower resolution, so that viewers can open the file."""
    from PIL import Image

    out = PngWriter()
    out.rect(0, 0, 10, 10, fill="#ffffff")
    data = out.document(500_000, 40)
    image = Image.open(io.BytesIO(data))
    assert image.width * image.height <= MOST_PIXELS


def test_without_a_file_it_is_printed(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without an output file the tree is printed."""
    assert main(["graph", str(model)]) == 0
    text = capsys.readouterr().out
    assert "layer" in text
    assert "strange" in text


def test_mistakes_are_one_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit codes are those of the other commands."""
    assert main(["graph", str(model), "-o", "a.gif"]) == 2
    assert "must end with .html, .svg, .png, .dot, .pdf, .txt" in capsys.readouterr().err
    assert main(["graph", str(tmp_path / "none.pb")]) == 3
    assert "No such file" in capsys.readouterr().err
    assert main(["completion", "bash"]) == 0
    assert "graph" in capsys.readouterr().out
