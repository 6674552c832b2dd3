/** Draws boxes.  Elements are kept by item, so that a box glides to its new place when a scope opens beside it. */

import type { Direction } from "../layout/layout_worker.ts";
import {
  type Arrangement,
  DOT_PITCH,
  HEADER,
  type PlacedItem,
  RIM,
  showsOp,
} from "./arrangement.ts";
import { svg } from "./dom.ts";
import { outline } from "./glyphs.ts";
import type { Colouring } from "./palette.ts";
import { CATEGORY_COUNT } from "./palette.ts";
import type { ItemId, Scene } from "./scene.ts";
import { cutMiddle, textWidth } from "./text_measure.ts";

const MAX_LABEL = 26;
const MAX_DOTS = 4;

interface Drawn {
  group: SVGGElement;
  look: string;
}

export class ItemPainter {
  readonly boxes = svg("g", { class: "tfnb-boxes" });
  readonly nodes = svg("g", { class: "tfnb-nodes" });
  private drawn = new Map<ItemId, Drawn>();
  private direction: Direction = "down";

  constructor(
    private readonly prefix: string,
    private readonly scene: Scene,
  ) {}

  element(item: ItemId): SVGGElement | undefined {
    return this.drawn.get(item)?.group;
  }

  paint(arrangement: Arrangement, colouring: Colouring): void {
    const kept = new Map<ItemId, Drawn>();
    this.direction = arrangement.direction;
    for (const placed of arrangement.items.values()) {
      const { item, x, y, width, height, isOpen } = placed;
      const look = `${width}x${height},${isOpen},${arrangement.direction},${colouring.by}${lookOf(item, this.scene, colouring)}`;
      let drawn = this.drawn.get(item);
      if (drawn === undefined) {
        const group = svg("g", { "data-item": item, role: "treeitem", id: this.idOf(item) });
        drawn = { group, look: "" };
        group.classList.add("tfnb-new");
      }
      if (drawn.look !== look) {
        drawn.look = look;
        drawn.group.replaceChildren(...this.contents(placed, colouring));
        this.describe(drawn.group, placed, colouring);
      }
      drawn.group.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
      const layer = isOpen ? this.boxes : this.nodes;
      if (drawn.group.parentNode !== layer) layer.append(drawn.group);
      kept.set(item, drawn);
    }
    for (const [item, { group }] of this.drawn) if (!kept.has(item)) group.remove();
    this.drawn = kept;
    // Outer boxes are drawn below inner ones, in any order of opening.
    const open = [...arrangement.items.values()].filter((placed) => placed.isOpen);
    open.sort((a, b) => a.depth - b.depth);
    this.boxes.append(...open.map((placed) => kept.get(placed.item)!.group));
  }

  idOf(item: ItemId): string {
    return `${this.prefix}-item-${item}`;
  }

  private describe(group: SVGGElement, placed: PlacedItem, colouring: Colouring): void {
    const { scene } = this;
    const { item, isOpen } = placed;
    const classes = ["tfnb-item"];
    if (scene.isScope(item)) {
      const scope = scene.scopeOfItem(item);
      classes.push(isOpen ? "tfnb-open" : "tfnb-closed", `tfnb-scope-${scene.scopeKind(scope)}`);
      if (isOpen) classes.push(`tfnb-depth-${placed.depth % 2}`);
      group.setAttribute("aria-expanded", String(isOpen));
      group.setAttribute("aria-label", `${scene.name(item)}, ${scene.size(item)} nodes`);
    } else {
      const category = colouring.categories[colouring.of[item]!]!;
      classes.push("tfnb-node", `tfnb-cat-${category.colour % CATEGORY_COUNT}`);
      classes.push(`tfnb-kind-${scene.opKind(item)}`);
      const note = [category.label, colouring.note(item)].filter(Boolean).join(", ");
      const said = colouring.by === "kind" ? "" : `, ${note}`;
      group.setAttribute("aria-label", `${scene.name(item)}, ${scene.op(item)}${said}`);
    }
    if (placed.isAuxiliary) classes.push("tfnb-auxiliary");
    const keep = ["tfnb-selected", "tfnb-hit", "tfnb-dim", "tfnb-near"].filter((name) =>
      group.classList.contains(name),
    );
    group.setAttribute("class", [...classes, ...keep].join(" "));
  }

  /** The parts of a box; its label describes all of them, so that screen readers skip them. */
  private contents(placed: PlacedItem, colouring: Colouring): SVGElement[] {
    const parts = this.parts(placed, colouring);
    for (const part of parts) part.setAttribute("aria-hidden", "true");
    return parts;
  }

  private parts(placed: PlacedItem, colouring: Colouring): SVGElement[] {
    if (!this.scene.isScope(placed.item)) return this.node(placed, colouring);
    return placed.isOpen ? this.openScope(placed) : this.closedScope(placed, colouring);
  }

  private node(placed: PlacedItem, colouring: Colouring): SVGElement[] {
    const { scene } = this;
    const { item, height } = placed;
    const room = Math.min(placed.dots.length, MAX_DOTS) * DOT_PITCH;
    const width = placed.width - room;
    const label = scene.shortLabel(item);
    const op = cutMiddle(scene.op(item), MAX_LABEL);
    const category = colouring.categories[colouring.of[item]!]!;
    const path = outline(scene.opKind(item), width, height);
    const body = svg("g", { transform: `translate(${room / 2} 0)` });
    body.append(svg("path", { class: "tfnb-shape", d: path }));
    if (category.pattern > 0) {
      body.append(
        svg("path", {
          class: "tfnb-hatch",
          d: path,
          fill: `url(#${this.prefix}-pattern-${category.pattern})`,
        }),
      );
    }
    const two = showsOp(label, scene.op(item));
    const below = scene.opKind(item) === "state" ? RIM / 2 : 0;
    body.append(svg("text", { class: "tfnb-label", y: (two ? -2.5 : 3.8) + below }, label));
    if (two) body.append(svg("text", { class: "tfnb-op", y: 10 + below }, ` ${op}`));
    return [
      ...this.dots(placed, -placed.width / 2),
      ...tails(placed, room / 2, this.direction),
      body,
      title(scene, item, colouring),
    ];
  }

  private closedScope(placed: PlacedItem, colouring: Colouring): SVGElement[] {
    const { scene } = this;
    const { item, height } = placed;
    const room = Math.min(placed.dots.length, MAX_DOTS) * DOT_PITCH;
    const width = placed.width - room;
    const kind = scene.scopeKind(scene.scopeOfItem(item));
    const body = svg("g", { transform: `translate(${room / 2} 0)` });
    const path = outline("scope", width, height);
    if (kind !== "scope") {
      body.append(svg("path", { class: "tfnb-behind", d: path, transform: "translate(3 3)" }));
    }
    body.append(svg("path", { class: "tfnb-shape", d: path }));
    const left = -width / 2;
    body.append(
      svg("path", { class: "tfnb-chevron", d: `M${left + 11} -7l4 4l-4 4` }),
      svg("text", { class: "tfnb-scope-label", x: left + 22, y: 1 }, scene.shortLabel(item)),
      svg(
        "text",
        { class: "tfnb-count", x: width / 2 - 9, y: 1 },
        ` ${scene.size(item).toLocaleString("en")}`, // apart from the label, for screen readers
      ),
      ...composition(scene, item, colouring, left + 9, 9, width - 18),
      ...["tfnb-bar-track", "tfnb-bar-dead", "tfnb-bar"].map((name) =>
        svg("rect", { class: name, x: left + 9, y: 8.5, width: width - 18, height: 4, rx: 2 }),
      ),
    );
    return [
      ...this.dots(placed, -placed.width / 2),
      ...tails(placed, room / 2, this.direction),
      body,
      title(scene, item),
    ];
  }

  private openScope(placed: PlacedItem): SVGElement[] {
    const { scene } = this;
    const { item, width, height } = placed;
    const left = -width / 2;
    const top = -height / 2;
    const label = cutMiddle(scene.label(item), 40);
    const end = left + 24 + textWidth(label, "scope");
    return [
      svg("rect", { class: "tfnb-shape", x: left, y: top, width, height, rx: 8 }),
      svg("rect", { class: "tfnb-handle", x: left, y: top, width, height: HEADER, rx: 8 }),
      svg("path", { class: "tfnb-chevron", d: `M${left + 9} ${top + 11}l4 4l4 -4` }),
      svg("text", { class: "tfnb-scope-label", x: left + 24, y: top + 17 }, label),
      svg(
        "text",
        { class: "tfnb-count tfnb-count-open", x: end + 8, y: top + 17 },
        ` ${scene.size(item).toLocaleString("en")}`, // apart from the label, for screen readers
      ),
      title(scene, item),
    ];
  }

  /** The constants whose only consumer this is: dots at its left side. */
  private dots(placed: PlacedItem, left: number): SVGElement[] {
    const { scene } = this;
    const shown = placed.dots.slice(0, MAX_DOTS);
    if (shown.length === 0) return [];
    const end = left + shown.length * DOT_PITCH;
    const line = svg("path", { class: "tfnb-dot-line", d: `M${left + 4} 0H${end}` });
    const dots = shown.map((constant, i) => {
      const x = left + 4 + i * DOT_PITCH;
      const dot = svg("circle", { class: "tfnb-dot", cx: x, cy: 0, r: 3.2, "data-item": constant });
      const names =
        placed.dots.length > MAX_DOTS && i === MAX_DOTS - 1
          ? placed.dots.slice(i).map((one) => scene.name(one))
          : [scene.name(constant)];
      dot.append(svg("title", {}, names.slice(0, 12).join("\n")));
      return dot;
    });
    return [line, ...dots];
  }
}

function tails(placed: PlacedItem, shift: number, direction: Direction): SVGElement[] {
  const found: SVGElement[] = [];
  if (direction === "right") {
    const [left, right] = [-placed.width / 2, placed.width / 2];
    const y = -placed.height / 4;
    if (placed.hasInputTail) {
      found.push(svg("path", { class: "tfnb-tail", d: `M${left - 8} ${y}H${left}` }));
    }
    if (placed.hasOutputTail) {
      found.push(svg("path", { class: "tfnb-tail", d: `M${right} ${y}H${right + 8}` }));
    }
    return found;
  }
  const half = placed.height / 2;
  const x = shift - Math.min(placed.width / 4, 14);
  if (placed.hasInputTail) {
    found.push(svg("path", { class: "tfnb-tail", d: `M${x} ${-half - 8}V${-half}` }));
  }
  if (placed.hasOutputTail) {
    found.push(svg("path", { class: "tfnb-tail", d: `M${x} ${half}V${half + 8}` }));
  }
  return found;
}

/** A strip that shows the categories of the nodes in a closed scope. */
function composition(
  scene: Scene,
  item: ItemId,
  colouring: Colouring,
  x: number,
  y: number,
  width: number,
): SVGElement[] {
  const [first, end] = scene.range(item);
  const counts = colouring.counts(first, end);
  const total = end - first;
  const parts: SVGElement[] = [];
  let from = x;
  counts.forEach((count, c) => {
    if (count === 0) return;
    const share = (width * count) / total;
    const { colour } = colouring.categories[c]!;
    parts.push(
      svg("rect", {
        class: `tfnb-strip tfnb-cat-${colour % CATEGORY_COUNT}`,
        x: from,
        y,
        width: Math.max(share - 0.8, 0.4),
        height: 3,
      }),
    );
    from += share;
  });
  return parts;
}

/** A key of the colouring of a box: with time, a step's liveness changes. */
function lookOf(item: ItemId, scene: Scene, colouring: Colouring): string {
  if (colouring.by !== "liveness") return "";
  if (!scene.isScope(item)) return `${colouring.categories[colouring.of[item]!]!.colour}`;
  return colouring.counts(...scene.range(item)).join();
}

function title(scene: Scene, item: ItemId, colouring?: Colouring): SVGTitleElement {
  if (scene.isScope(item)) {
    return svg("title", {}, `${scene.name(item)} — ${scene.size(item).toLocaleString("en")} nodes`);
  }
  const said = colouring ? colouring.note(item) : "";
  return svg("title", {}, [scene.name(item), scene.op(item), said].filter(Boolean).join("\n"));
}
