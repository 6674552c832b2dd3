"""The widget alone in a page: the same module, mounted with a model made of plain values."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.notebook.browser.stillness import settle

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Dialog, Error, Page, ViewportSize

    from tfnb.notebook.scenes.scene import Scene

VIEWPORT: ViewportSize = {"width": 1000, "height": 700}
STATIC = Path(__file__).parents[3] / "tfnb" / "notebook" / "static"

_DARK = (
    "--jp-layout-color1:#212121;--jp-layout-color2:#2c2c2c;--jp-border-color2:#424242;"
    "--jp-ui-font-color1:#ffffffde;--jp-ui-font-color2:#ffffff8a;--jp-brand-color1:#2196f3;"
)

_MOUNT = """async (given) => {
  const [
    source, scene, options, states, counters, record, debug, lanes, passes, css, table,
    early, ready,
  ] = given;
  const bytes = (text) => {
    const decoded = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new DataView(decoded.buffer);
  };
  const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
  const widget = (await import(url)).default;
  const traits = {
    _scene: bytes(scene), _states: bytes(states), _counters: counters, _options: options,
    _record: bytes(record), _debug: debug, _lanes: bytes(lanes), _passes: passes,
    _table: table, _look: {},
    _esm: source, _css: css, selected: "",
  };
  const handlers = {};
  const model = {
    get: (name) => traits[name],
    set: (name, value) => {
      traits[name] = value;
      for (const handler of handlers[`change:${name}`] ?? []) handler();
    },
    save_changes: () => {},
    send: (message) => { (window.sent ??= []).push(message); },
    on: (event, handler) => { (handlers[event] ??= []).push(handler); },
    off: (event, handler) => {
      handlers[event] = (handlers[event] ?? []).filter((one) => one !== handler);
    },
  };
  window.model = model;
  window.bytes = bytes;
  window.handlers = handlers;
  const start = performance.now();
  const place = document.getElementById("place");
  // Called as soon as the elements are there, before the scene is decoded.
  const press = (_, observer) => {
    const found = document.querySelector(early);
    if (!found) return;
    observer.disconnect();
    found.click();
  };
  if (early) new MutationObserver(press).observe(place, {childList: true, subtree: true});
  window.dispose = widget.render({model, el: place});
  while (!document.querySelector(ready)) {
    await new Promise((go) => setTimeout(go, 4));
    if (performance.now() - start > 240000) throw new Error(document.body.innerText);
  }
  return performance.now() - start;
}"""


class WidgetPage:
    """A page to mount a widget in, used by one test after the other; records its errors."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("pageerror", self._note_error)
        page.on("console", self._note_message)
        page.on("dialog", self._note_dialog)

    def _note_error(self, error: Error) -> None:
        self.problems.append(str(error))

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(message.text)

    def _note_dialog(self, dialog: Dialog) -> None:
        self.problems.append("dialog")
        dialog.dismiss()

    def leave(self) -> None:
        """Leave the page as new."""
        page = self.page
        page.remove_listener("pageerror", self._note_error)
        page.remove_listener("console", self._note_message)
        page.remove_listener("dialog", self._note_dialog)
        page.goto("about:blank")
        page.unroute_all()
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(VIEWPORT)
        page.mouse.move(0, 0)

    def mount(
        self,
        scene: Scene | None,
        view: str = "graph",
        *,
        colour_by: str = "kind",
        states: bytes = b"",
        counters: dict[str, Any] | None = None,
        record: bytes = b"",
        debugger: dict[str, Any] | None = None,
        lanes: bytes = b"",
        passes: dict[str, Any] | None = None,
        table: dict[str, Any] | None = None,
        is_dark: bool = False,
        policy: str = "",
        early: str = "",
        ready: str = "[data-ready]",
    ) -> float:
        """Show a scene; return the milliseconds from mounting until ``ready`` is there: the graph.

        What the selector ``early`` finds is clicked at once, before anything is drawn.
        """
        css = (STATIC / "tfnb.css").read_text(encoding="utf-8")
        source = (STATIC / "tfnb.js").read_text(encoding="utf-8")
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
        light = "false" if is_dark else "true"
        self.page.set_content(
            f"<!doctype html><head>{meta}<style>{css}</style></head>"
            f'<body data-jp-theme-light="{light}" style="margin:10px;{_DARK if is_dark else ""}'
            f'background:{"#111" if is_dark else "#fff"}"><div id="place"></div></body>'
        )
        options = {"view": view, "colourBy": colour_by, "height": 420}
        took: float = self.page.evaluate(
            _MOUNT,
            [
                source,
                base64.b64encode(b"" if scene is None else scene.encode()).decode(),
                options,
                base64.b64encode(states).decode(),
                counters or {},
                base64.b64encode(record).decode(),
                debugger or {},
                base64.b64encode(lanes).decode(),
                passes or {},
                css,
                table or {},
                early,
                ready,
            ],
        )
        return took

    def labels(self) -> list[str]:
        """Return the texts of the boxes."""
        found: list[str] = self.page.evaluate(
            "() => [...document.querySelectorAll('.tfnb-label, .tfnb-scope-label')]"
            ".map((label) => label.textContent)"
        )
        return found

    def closed_scope(self, label: str) -> Any:
        """A closed scope's box."""
        return self.page.locator(".tfnb-closed", has_text=label).first

    def settle(self) -> None:
        """Wait until layouts are drawn and animations have ended."""
        settle(self.page)
