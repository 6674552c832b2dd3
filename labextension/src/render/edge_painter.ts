/** Draws edges: thickness for the number of tensors, dashes for control, and the shape of a single tensor. */

import type { Direction } from "../layout/layout_worker.ts";
import { type Arrangement, type PlacedEdge, type PlacedItem, transferText } from "./arrangement.ts";
import { round, svg } from "./dom.ts";
import { spline } from "./glyphs.ts";
import { CONTROL, type ItemId, type Scene } from "./scene.ts";

const MAX_TITLE_LINES = 8;
const MAX_FAR_EDGES = 60;

export class EdgePainter {
  readonly lines = svg("g", { class: "tfnb-edges" });
  readonly labels = svg("g", { class: "tfnb-edge-labels" });
  readonly far = svg("g", { class: "tfnb-far-edges" });
  private drawn = new Map<string, { path: SVGPathElement; d: string }>();

  constructor(
    private readonly prefix: string,
    private readonly scene: Scene,
  ) {}

  paint(arrangement: Arrangement): void {
    const kept = new Map<string, { path: SVGPathElement; d: string }>();
    const labels: SVGElement[] = [];
    for (const edge of arrangement.edges) {
      const d = spline(edge.points);
      let drawn = this.drawn.get(edge.key);
      if (drawn === undefined) {
        drawn = { path: this.line(edge), d: "" };
        this.lines.append(drawn.path);
      }
      if (drawn.d !== d) {
        drawn.d = d;
        drawn.path.setAttribute("d", d);
      }
      kept.set(edge.key, drawn);
      if (edge.label && edge.text) {
        // Every second scope, counted from outside, has a darker or lighter paper (item_painter.ts).
        const label = svg("text", { x: edge.label.x, y: edge.label.y + 3 }, edge.text);
        label.classList.toggle("tfnb-on-sunken", edge.depth % 2 === 1);
        labels.push(label);
      }
    }
    for (const [key, { path }] of this.drawn) if (!kept.has(key)) path.remove();
    this.drawn = kept;
    for (const { x, y, text } of arrangement.captions) {
      labels.push(svg("text", { class: "tfnb-caption", x, y }, text));
    }
    this.labels.replaceChildren(...labels);
  }

  private line(edge: PlacedEdge): SVGPathElement {
    const { edges, controls, isBack } = edge.meta;
    const kind = isBack ? "back" : controls === edges.length ? "control" : "data";
    const tensors = edges.length - controls;
    const path = svg("path", {
      class: `tfnb-edge tfnb-edge-${kind}`,
      "marker-end": `url(#${this.prefix}-arrow-${kind})`,
      "stroke-width": round(
        kind === "data" ? Math.min(1 + 0.6 * Math.log2(Math.max(1, tensors)), 5) : 1,
      ),
    });
    path.append(svg("title", {}, this.titleOf(edges)));
    return path;
  }

  private titleOf(edges: number[]): string {
    const { scene } = this;
    const lines = edges.slice(0, MAX_TITLE_LINES).map((e) => {
      const source = scene.src[e]!;
      const slot = scene.srcSlot[e]!;
      const to = scene.name(scene.dst[e]!);
      if (slot === CONTROL) return `^${scene.name(source)} → ${to}`;
      const output = scene.outputs(source)[slot];
      const what = output ? `  ${output[0]} ${output[1]}` : "";
      return `${scene.name(source)}:${slot} → ${to}${what}`;
    });
    const moved = transferText(scene, edges);
    if (moved) lines.push(moved);
    if (edges.length > MAX_TITLE_LINES) lines.push(`… and ${edges.length - MAX_TITLE_LINES} more`);
    return lines.join("\n");
  }

  /** Highlights the edges of a box, and draws those that no scope's layout shows. */
  light(
    selected: ItemId | null,
    arrangement: Arrangement,
    visible: (node: number) => ItemId,
  ): Set<ItemId> {
    const near = new Set<ItemId>();
    for (const edge of arrangement.edges) {
      const isLit = selected !== null && (edge.meta.from === selected || edge.meta.to === selected);
      const path = this.drawn.get(edge.key)!.path;
      if (path.classList.toggle("tfnb-lit", isLit)) {
        path.setAttribute("marker-end", `url(#${this.prefix}-arrow-lit)`);
        this.lines.append(path);
        near.add(edge.meta.from).add(edge.meta.to);
      } else {
        const kind = /tfnb-edge-(\w+)/.exec(path.getAttribute("class") ?? "")?.[1] ?? "data";
        path.setAttribute("marker-end", `url(#${this.prefix}-arrow-${kind})`);
      }
    }
    this.far.replaceChildren();
    if (selected === null) return near;
    const here = arrangement.items.get(selected);
    // The edges of an open scope belong to its nodes, where tails show them.
    if (here === undefined || here.isOpen) return near;
    const { inputs, outputs } = this.distant(selected, visible);
    const draw = (from: PlacedItem, to: PlacedItem) => {
      this.far.append(
        svg("path", {
          class: "tfnb-far",
          d: arc(from, to, arrangement.direction),
          "marker-end": `url(#${this.prefix}-arrow-lit)`,
        }),
      );
    };
    for (const other of [...inputs].slice(0, MAX_FAR_EDGES)) {
      const there = arrangement.items.get(other);
      if (there && !this.drawn.has(`${other}>${selected}`)) draw(there, here);
      near.add(other);
    }
    for (const other of [...outputs].slice(0, MAX_FAR_EDGES)) {
      const there = arrangement.items.get(other);
      if (there && !this.drawn.has(`${selected}>${other}`)) draw(here, there);
      near.add(other);
    }
    return near;
  }

  private distant(
    selected: ItemId,
    visible: (node: number) => ItemId,
  ): { inputs: Set<ItemId>; outputs: Set<ItemId> } {
    const { scene } = this;
    const [first, end] = scene.range(selected);
    const inputs = new Set<ItemId>();
    const outputs = new Set<ItemId>();
    for (let e = scene.inStart[first]!; e < scene.inStart[end]!; e++) {
      const source = scene.src[e]!;
      if (source < first || source >= end) inputs.add(visible(source));
    }
    for (let k = scene.outStart[first]!; k < scene.outStart[end]!; k++) {
      const consumer = scene.dst[scene.outEdges[k]!]!;
      if (consumer < first || consumer >= end) outputs.add(visible(consumer));
    }
    inputs.delete(selected);
    outputs.delete(selected);
    return { inputs, outputs };
  }
}

function arc(from: PlacedItem, to: PlacedItem, direction: Direction): string {
  const inside = (outer: PlacedItem, inner: PlacedItem) =>
    outer.isOpen &&
    Math.abs(outer.x - inner.x) <= outer.width / 2 &&
    Math.abs(outer.y - inner.y) <= outer.height / 2;
  if (direction === "right") {
    const left = inside(from, to) ? from.x - from.width / 2 : from.x + from.width / 2;
    const right = inside(to, from) ? to.x + to.width / 2 : to.x - to.width / 2;
    const bend = Math.max(24, Math.abs(right - left) / 2.5);
    return `M${round(left)} ${round(from.y)}C${round(left + bend)} ${round(from.y)} ${round(right - bend)} ${round(to.y)} ${round(right)} ${round(to.y)}`;
  }
  const x1 = from.x;
  const y1 = inside(from, to) ? from.y - from.height / 2 : from.y + from.height / 2;
  const x2 = to.x;
  const y2 = inside(to, from) ? to.y + to.height / 2 : to.y - to.height / 2;
  const bend = Math.max(24, Math.abs(y2 - y1) / 2.5);
  return `M${round(x1)} ${round(y1)}C${round(x1)} ${round(y1 + bend)} ${round(x2)} ${round(y2 - bend)} ${round(x2)} ${round(y2)}`;
}
