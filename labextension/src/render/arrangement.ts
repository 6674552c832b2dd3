/**
 * The position of every box and edge: the layouts of the open scopes put together, inner ones first.
 *
 * There is one layout per open scope, cached by the sizes of its open children: opening or closing a scope lays
 * out only that scope and those around it.
 */

import type { Layouter } from "../layout/layout_client.ts";
import type { Direction, LayoutResult, Point } from "../layout/layout_worker.ts";
import { laneMetagraph, type MetaEdge, type Metagraph, metagraph } from "./metagraph.ts";
import { CONTROL, type ItemId, ROOT, type Scene } from "./scene.ts";
import { cutMiddle, textWidth } from "./text_measure.ts";
import { bytesText, duration } from "./units.ts";

export const HEADER = 26;
export const PADDING = 12;
export const DOT_PITCH = 9;
const AUXILIARY_GAP = 30;
const AUXILIARY_PITCH = 12;
const CAPTION_HEIGHT = 18;
const MAX_LABEL = 26;
const LABELLED_EDGES = 45;
const EDGE_LABEL_HEIGHT = 14;
/** The part of a cylinder's height that its rim takes. */
export const RIM = 7;

export interface Size {
  width: number;
  height: number;
}

/** A box at its absolute place (its centre); `depth` counts the open scopes around it. */
export interface PlacedItem extends Size {
  item: ItemId;
  x: number;
  y: number;
  depth: number;
  isOpen: boolean;
  isAuxiliary: boolean;
  dots: ItemId[];
  hasInputTail: boolean;
  hasOutputTail: boolean;
}

export interface PlacedEdge {
  key: string;
  meta: MetaEdge;
  depth: number;
  points: Point[];
  label: Point | null;
  text: string;
}

/** A word above an auxiliary column. */
export interface Caption extends Point {
  text: string;
}

export interface Arrangement extends Size {
  /** The direction of the data flow. */
  direction: Direction;
  captions: Caption[];
  items: Map<ItemId, PlacedItem>;
  edges: PlacedEdge[];
  lanes: { lane: number; x: number; width: number }[];
}

interface ScopeLayout extends Size {
  key: string;
  graph: Metagraph;
  sizes: Map<ItemId, Size>;
  result: LayoutResult;
  texts: string[];
  auxiliary: Point[];
}

export class Arranger {
  private readonly graphs = new Map<number, Metagraph>();
  private readonly layouts = new Map<number, ScopeLayout>();

  constructor(
    private readonly scene: Scene,
    private readonly layouter: Layouter,
    readonly direction: Direction = "down",
  ) {}

  graphOf(scope: number): Metagraph {
    let graph = this.graphs.get(scope);
    if (graph === undefined) {
      const { scene } = this;
      graph = scene.isLanes && scope === ROOT ? laneMetagraph(scene) : metagraph(scene, scope);
      this.graphs.set(scope, graph);
    }
    return graph;
  }

  async arrange(open: ReadonlySet<number>): Promise<Arrangement> {
    const layout = await this.layoutScope(ROOT, open);
    const items = new Map<ItemId, PlacedItem>();
    const edges: PlacedEdge[] = [];
    const captions: Caption[] = [];
    // A lane is a box around its nodes.
    this.place(layout, 0, 0, this.scene.isLanes ? 1 : 0, open, { items, edges, captions });
    return {
      direction: this.direction,
      captions,
      width: layout.width,
      height: layout.height,
      items,
      edges,
      lanes: layout.result.lanes.map(({ x, width }, lane) => ({ lane, x: x + PADDING, width })),
    };
  }

  /** A closed box's size, from the widths of its texts. */
  closedSize(item: ItemId, dots: number): Size {
    const { scene } = this;
    const label = scene.shortLabel(item);
    const dotRoom = Math.min(dots, 4) * DOT_PITCH;
    if (scene.isScope(item)) {
      const count = scene.size(item).toLocaleString("en");
      const width = 30 + textWidth(label, "scope") + 8 + textWidth(count, "small") + 12 + dotRoom;
      return { width: Math.max(84, width), height: 36 };
    }
    const op = scene.op(item);
    const wide = Math.max(textWidth(label, "label"), textWidth(cutMiddle(op, MAX_LABEL), "small"));
    return {
      width: Math.max(44, wide + 26 + dotRoom),
      height: (showsOp(label, op) ? 34 : 24) + (scene.opKind(item) === "state" ? RIM : 0),
    };
  }

  private async layoutScope(scope: number, open: ReadonlySet<number>): Promise<ScopeLayout> {
    const { scene } = this;
    const graph = this.graphOf(scope);
    const sizes = new Map<ItemId, Size>();
    let key = "";
    for (const item of [...graph.items, ...graph.auxiliary]) {
      if (scene.isScope(item) && open.has(scene.scopeOfItem(item))) {
        const inner = await this.layoutScope(scene.scopeOfItem(item), open);
        sizes.set(item, { width: inner.width, height: inner.height });
        key += `${item}:${inner.width}x${inner.height};`;
      } else {
        sizes.set(item, this.closedSize(item, graph.embedded.get(item)?.length ?? 0));
      }
    }
    const known = this.layouts.get(scope);
    if (known !== undefined && known.key === key) return known;

    const labelled = graph.edges.length <= LABELLED_EDGES;
    const texts = graph.edges.map((edge) =>
      labelled ? this.edgeText(edge) : transferText(scene, edge.edges),
    );
    const isLanes = scene.isLanes && scope === ROOT;
    const laneScopes = scene.innerScopes(ROOT);
    const result = await this.layouter({
      boxes: graph.items.map((item) => ({
        id: item,
        ...sizes.get(item)!,
        lane: isLanes ? laneScopes.indexOf(scene.parentOf(item)) : -1,
      })),
      edges: graph.edges.map((edge, i) => ({
        from: edge.from,
        to: edge.to,
        isBack: edge.isBack,
        weight: edge.controls === edge.edges.length ? 1 : 3,
        labelWidth: texts[i] ? textWidth(texts[i]!, "small") + 6 : 0,
        labelHeight: texts[i] ? EDGE_LABEL_HEIGHT : 0,
      })),
      lanes: isLanes ? laneScopes.length : 0,
      direction: this.direction,
    });
    const layout = this.withFrame({ key, graph, sizes, result, texts }, scope);
    this.layouts.set(scope, layout);
    return layout;
  }

  /** Adds the auxiliary column, the header and the padding to a scope's layered layout. */
  private withFrame(
    base: Omit<ScopeLayout, "width" | "height" | "auxiliary">,
    scope: number,
  ): ScopeLayout {
    const { graph, sizes, result } = base;
    const auxiliary: Point[] = [];
    const top = this.topOf(scope);
    const limit = Math.max(result.height, 260);
    let x = graph.items.length ? result.width + AUXILIARY_GAP : 0;
    const first = graph.items.length ? CAPTION_HEIGHT : 0;
    let y = first;
    let columnWidth = 0;
    let bottom = result.height;
    for (const item of graph.auxiliary) {
      const { width, height } = sizes.get(item)!;
      if (y > first && y + height > limit) {
        x += columnWidth + AUXILIARY_PITCH;
        y = first;
        columnWidth = 0;
      }
      auxiliary.push({ x, y: y + height / 2 });
      columnWidth = Math.max(columnWidth, width);
      y += height + AUXILIARY_PITCH;
      bottom = Math.max(bottom, y - AUXILIARY_PITCH);
    }
    const right = graph.auxiliary.length ? x + columnWidth : result.width;
    const title = textWidth(cutMiddle(this.scene.label(this.scene.scopeItem(scope)), 40), "scope");
    const width = Math.max(right + 2 * PADDING, scope === ROOT ? 0 : title + 96);
    return { ...base, auxiliary, width, height: bottom + top + PADDING };
  }

  /** The height above a scope's content: its header, or the heads of the lanes. */
  private topOf(scope: number): number {
    return scope === ROOT && !this.scene.isLanes ? PADDING : HEADER + PADDING / 2;
  }

  private place(
    layout: ScopeLayout,
    left: number,
    top: number,
    depth: number,
    open: ReadonlySet<number>,
    into: Pick<Arrangement, "items" | "edges" | "captions">,
  ): void {
    const { scene } = this;
    const { items, edges, captions } = into;
    const { graph, result, sizes } = layout;
    const inner = top + this.topOf(graph.scope);
    const content = graph.items.length
      ? result.width
      : Math.max(
          0,
          ...graph.auxiliary.map((item, i) => layout.auxiliary[i]!.x + sizes.get(item)!.width),
        );
    const spare = graph.auxiliary.length
      ? 0
      : Math.max(0, (layout.width - 2 * PADDING - content) / 2);
    const x0 = left + PADDING + spare;
    const put = (item: ItemId, x: number, y: number, isAuxiliary: boolean) => {
      const { width, height } = sizes.get(item)!;
      const isOpen = scene.isScope(item) && open.has(scene.scopeOfItem(item));
      items.set(item, {
        item,
        x,
        y,
        width,
        height,
        depth,
        isOpen,
        isAuxiliary,
        dots: graph.embedded.get(item) ?? [],
        hasInputTail: graph.hasInputTail.has(item),
        hasOutputTail: graph.hasOutputTail.has(item),
      });
      if (isOpen) {
        const scope = scene.scopeOfItem(item);
        const within = this.layouts.get(scope)!;
        this.place(within, x - width / 2, y - height / 2, depth + 1, open, into);
      }
    };
    graph.items.forEach((item, i) => {
      const { x, y } = result.centres[i]!;
      put(item, x0 + x, inner + y, false);
    });
    if (graph.items.length && graph.auxiliary.length) {
      const x = left + PADDING + layout.auxiliary[0]!.x;
      captions.push({ x, y: inner + 9, text: "beside the flow" });
    }
    graph.auxiliary.forEach((item, i) => {
      const { x, y } = layout.auxiliary[i]!;
      put(item, left + PADDING + x + sizes.get(item)!.width / 2, inner + y, true);
    });
    graph.edges.forEach((meta, i) => {
      const { points, label } = result.edges[i]!;
      const move = ({ x, y }: Point): Point => ({ x: x + x0, y: y + inner });
      edges.push({
        key: `${meta.from}>${meta.to}`,
        meta,
        depth,
        points: points.map(move),
        label: layout.texts[i] ? move(label) : null,
        text: layout.texts[i] ?? "",
      });
    });
  }

  /** The label of an edge: the shape of its only tensor, or the number of its tensors. */
  private edgeText(edge: MetaEdge): string {
    const { scene } = this;
    const tensors = edge.edges.filter((e) => scene.dstSlot[e] !== CONTROL);
    if (tensors.length === 0) return "";
    const sources = new Set(tensors.map((e) => `${scene.src[e]}:${scene.srcSlot[e]}`));
    const moved = transferText(scene, tensors);
    if (moved) return moved;
    if (sources.size > 1) return `${sources.size} tensors`;
    const e = tensors[0]!;
    const output = scene.outputs(scene.src[e]!)[scene.srcSlot[e]!];
    if (output === undefined) return "";
    return compactShape(output[1]);
  }
}

/** A text about the bytes that a recorded step sent along edges into Recv nodes, and how long these waited. */
export function transferText(scene: Scene, edges: number[]): string {
  let [bytes, waited, often] = [0, 0, 0];
  for (const e of edges) {
    const to = scene.dst[e]!;
    const cost = scene.op(to).endsWith("Recv") && scene.costs?.[to];
    if (!cost) continue;
    bytes += cost.moved;
    waited += cost.waited;
    often += cost.runs;
  }
  if (often === 0) return "";
  const times = often > 1 ? `${often}×, ` : "";
  return `${times}${bytesText(bytes)}${waited > 0 ? `, waited ${duration(waited)}` : ""}`;
}

/** `(?, 28, 28)` -> `?×28×28`; empty for a scalar and an unknown shape. */
export function compactShape(shape: string): string {
  if (!shape.startsWith("(")) return "";
  return shape
    .slice(1, -1)
    .split(",")
    .map((dim) => dim.trim())
    .filter(Boolean)
    .join("×");
}

/** Whether the op's type needs a second line: not if the label is that type already ("MatMul_3"). */
export function showsOp(label: string, op: string): boolean {
  return label.replace(/_\d+$/, "").toLowerCase() !== op.toLowerCase();
}
