/** The whole drawing in small, if only a part is visible; a press or a drag moves there. */

import type { Arrangement } from "./arrangement.ts";
import { setAttributes, svg } from "./dom.ts";
import type { Viewport } from "./viewport.ts";

const WIDTH = 132;
const HEIGHT = 88;
/** The part of a small view's width and height that it may cover. */
const MOST_COVERED = 0.28;
/** If there are very many boxes, only open scopes are drawn. */
const MOST_BOXES = 600;

export class Minimap {
  readonly element = svg("svg", { class: "tfnb-minimap", "aria-hidden": "true" });
  private readonly boxes = svg("g");
  private readonly seen = svg("rect", { class: "tfnb-minimap-seen" });

  constructor(private readonly viewport: Viewport) {
    this.element.append(this.boxes, this.seen);
    this.element.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      this.element.setPointerCapture(event.pointerId);
      this.go(event);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) this.go(event);
    });
    viewport.onMove = () => this.move();
  }

  show({ items, width, height }: Arrangement): void {
    this.element.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const drawn = [...items.values()].filter((one) => one.isOpen || items.size <= MOST_BOXES);
    drawn.sort((a, b) => a.depth - b.depth);
    this.boxes.replaceChildren(
      ...drawn.map((one) =>
        svg("rect", {
          class: one.isOpen ? "tfnb-minimap-open" : "tfnb-minimap-box",
          x: one.x - one.width / 2,
          y: one.y - one.height / 2,
          width: one.width,
          height: one.height,
        }),
      ),
    );
    this.move();
  }

  private move(): void {
    const { visible, bounds, extent } = this.viewport;
    const scale = Math.min(
      Math.min(WIDTH, MOST_COVERED * extent.width) / bounds.width,
      Math.min(HEIGHT, MOST_COVERED * extent.height) / bounds.height,
    );
    this.element.style.width = `${Math.round(bounds.width * scale)}px`;
    this.element.style.height = `${Math.round(bounds.height * scale)}px`;
    const isWhole = visible.width >= bounds.width * 0.97 && visible.height >= bounds.height * 0.97;
    this.element.style.display = isWhole ? "none" : "";
    setAttributes(this.seen, { ...visible });
  }

  private go(event: PointerEvent): void {
    const box = this.element.getBoundingClientRect();
    const { bounds } = this.viewport;
    this.viewport.centre(
      ((event.clientX - box.left) / box.width) * bounds.width,
      ((event.clientY - box.top) / box.height) * bounds.height,
    );
  }
}
