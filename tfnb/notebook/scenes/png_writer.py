"""The static picture of a scene as PNG: painted with Pillow, like that of :class:`SvgWriter`."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from tfnb.notebook.scenes.attr_text import one_line
from tfnb.notebook.scenes.scene_svg import draw_scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.notebook.scenes.scene import Scene

# Pixels of the file per CSS pixel, so that text is sharp on screens of high resolution.
SCALE = 2
_FONT_SIZE = 11.0
# Number of straight pieces that stand for a bent line.
_PIECES = 12
_ARROW_LENGTH, _ARROW_HALF = 6.0, 3.0
_COMMAND = re.compile(r"([MC])([^MC]*)")
MOST_PIXELS = 16_000_000

Point = tuple[float, float]


class PngWriter:
    """Collects the elements until :meth:`document` gets the size of the picture."""

    def __init__(self) -> None:
        self._painting: list[Callable[[Any], None]] = []
        self._fonts: dict[float, Any] = {}
        self._scale: float = SCALE

    def rect(self, x: float, y: float, width: float, height: float, **attributes: object) -> None:
        """Add a rectangle."""

        def paint(on: Any) -> None:
            box = [*self._scaled((x, y)), *self._scaled((x + width, y + height))]
            radius = min(float(str(attributes.get("rx", 0))), width / 2, height / 2)
            on.rounded_rectangle(
                box,
                radius * self._scale,
                fill=attributes.get("fill"),
                outline=attributes.get("stroke"),
                width=round(self._scale),
            )

        self._painting.append(paint)

    def path(self, d: str, **attributes: object) -> None:
        """Add a line through the points of an SVG path that consists of the commands M and C."""
        points = _points_of(d)

        def paint(on: Any) -> None:
            line = [self._scaled(point) for point in points]
            on.line(line, fill=attributes.get("stroke"), width=round(self._scale), joint="curve")
            if "marker_end" in attributes and len(points) > 1:
                head = [self._scaled(point) for point in _arrow_head(*points[-2:])]
                on.polygon(head, fill=attributes.get("stroke"))

        self._painting.append(paint)

    def text(
        self, x: float, y: float, text: str, *, tooltip: str = "", **attributes: object
    ) -> None:
        """Add a text on its baseline; a picture has no tooltips."""
        anchor = "ms" if attributes.get("text_anchor") == "middle" else "ls"
        size = float(str(attributes.get("font_size", _FONT_SIZE)))
        is_bold = attributes.get("font_weight") == "600"

        def paint(on: Any) -> None:
            on.text(
                self._scaled((x, y)),
                one_line(text),
                fill=attributes.get("fill"),
                font=self._font(size),
                anchor=anchor,
                # The only font that Pillow contains has no bold face.
                stroke_width=0.3 * self._scale if is_bold and _strokes_may_be_fine() else 0,
            )

        self._painting.append(paint)

    def raw_definition(self, markup: str) -> None:
        """Ignore arrow heads, which are painted, not defined."""

    def document(self, width: float, height: float) -> bytes:
        """Return the whole picture as a file."""
        from PIL import Image, ImageDraw

        # A picture of a very wide graph is coarser, because viewers limit the size of pictures.
        self._scale = min(SCALE, (MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
        size = max(1, int(width * self._scale)), max(1, int(height * self._scale))
        image = Image.new("RGB", size, "#ffffff")
        on = ImageDraw.Draw(image)
        for paint in self._painting:
            paint(on)
        file = io.BytesIO()
        image.save(file, "PNG")
        return file.getvalue()

    def _scaled(self, point: Point) -> Point:
        return point[0] * self._scale, point[1] * self._scale

    def _font(self, size: float) -> Any:
        from PIL import ImageFont

        if size not in self._fonts:
            try:
                self._fonts[size] = ImageFont.load_default(size * self._scale)
            except TypeError:  # before Pillow 10.1, this font has one size
                self._fonts[size] = ImageFont.load_default()
        return self._fonts[size]


def scene_png(scene: Scene) -> bytes:
    """Return the picture of :func:`tfnb.notebook.scenes.scene_svg.scene_svg` as a PNG file."""
    out = PngWriter()
    return out.document(*draw_scene(scene, out))


def _strokes_may_be_fine() -> bool:
    from PIL import __version__

    # In older versions, the width of a stroke is a whole number.
    return tuple(int(part) for part in __version__.split(".")[:2]) >= (11, 1)


def _points_of(d: str) -> list[Point]:
    """Return points on a path, close enough that straight lines between them look bent."""
    points: list[Point] = []
    for command, text in _COMMAND.findall(d):
        numbers = [float(number) for number in text.split()]
        ends = list(zip(numbers[::2], numbers[1::2], strict=True))
        if command == "M":
            points += ends
            continue
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = points[-1], *ends
        for piece in range(1, _PIECES + 1):
            t = piece / _PIECES
            u = 1 - t
            a, b, c, e = u**3, 3 * u * u * t, 3 * u * t * t, t**3
            points.append((a * x0 + b * x1 + c * x2 + e * x3, a * y0 + b * y1 + c * y2 + e * y3))
    return points


def _arrow_head(before: Point, tip: Point) -> list[Point]:
    (x0, y0), (x, y) = before, tip
    length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5 or 1.0
    along, across = (x - x0) / length, (y - y0) / length
    back = x - along * _ARROW_LENGTH, y - across * _ARROW_LENGTH
    return [
        tip,
        (back[0] - across * _ARROW_HALF, back[1] + along * _ARROW_HALF),
        (back[0] + across * _ARROW_HALF, back[1] - along * _ARROW_HALF),
    ]
