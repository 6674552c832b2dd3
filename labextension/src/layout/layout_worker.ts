/**
 * Places the boxes of one scope; runs in a Web Worker, or, if none can be made, on the main thread.
 *
 * Built as a separate module and carried inside the widget as text (layout_client.ts), so that dagre is there once.
 */

import { layout as dagreLayout, Graph } from "@dagrejs/dagre";

export interface LayoutRequest {
  boxes: { id: number; width: number; height: number; lane: number }[];
  edges: {
    from: number;
    to: number;
    isBack: boolean;
    weight: number;
    labelWidth: number;
    labelHeight: number;
  }[];
  /** The number of lanes to keep boxes in, 0 for a plain layered layout. */
  lanes: number;
  /** The direction of the data flow; in lanes always down. */
  direction?: Direction;
}

export type Direction = "down" | "right";

export interface Point {
  x: number;
  y: number;
}

export interface LayoutResult {
  width: number;
  height: number;
  /** Centres, in the order of the request's boxes. */
  centres: Point[];
  /** Points of each edge from its source to its destination, and the middle for its label. */
  edges: { points: Point[]; label: Point }[];
  /** Left edge and width of each lane. */
  lanes: { x: number; width: number }[];
}

const MARGIN = 4;
const LANE_GAP = 28;
const NODE_GAP = 14;
const MANY_BOXES = 90;
/** Between an edge of a lane and the boxes that it passes; two boxes of a row leave room for one edge. */
const CLEARANCE = NODE_GAP / 2;

export function layout(request: LayoutRequest): LayoutResult {
  const plain = layered(request);
  return request.lanes > 0 ? inLanes(request, plain) : plain;
}

function layered(request: LayoutRequest): LayoutResult {
  const isLarge = request.boxes.length > MANY_BOXES;
  const graph = new Graph({ multigraph: true });
  graph.setGraph({
    rankdir: request.direction === "right" ? "LR" : "TB",
    nodesep: NODE_GAP,
    edgesep: 8,
    ranksep: request.direction === "right" ? 34 : 26,
    marginx: MARGIN,
    marginy: MARGIN,
    ranker: isLarge ? "tight-tree" : "network-simplex",
  });
  for (const { id, width, height } of request.boxes) {
    graph.setNode(String(id), { width, height });
  }
  request.edges.forEach((edge, index) => {
    // An edge that closes a loop is laid out in reverse, so that the loop's body runs downwards.
    const [from, to] = edge.isBack ? [edge.to, edge.from] : [edge.from, edge.to];
    graph.setEdge(
      String(from),
      String(to),
      {
        weight: edge.weight,
        minlen: 1,
        width: edge.labelWidth,
        height: edge.labelHeight,
        labelpos: "c",
      },
      String(index),
    );
  });
  dagreLayout(graph);
  const centres = request.boxes.map(({ id }) => {
    const { x, y } = graph.node(String(id)) as Point;
    return { x, y };
  });
  const edges = request.edges.map((edge, index) => {
    const [from, to] = edge.isBack ? [edge.to, edge.from] : [edge.from, edge.to];
    const placed = graph.edge(String(from), String(to), String(index)) as {
      points: Point[];
      x?: number;
      y?: number;
    };
    const points = placed.points.map(({ x, y }) => ({ x, y }));
    if (edge.isBack) points.reverse();
    const middle = points[Math.floor(points.length / 2)]!;
    return { points, label: { x: placed.x ?? middle.x, y: placed.y ?? middle.y } };
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { ...withinBounds(request, centres, edges, width, height), lanes: [] };
}

/** Edges may exceed dagre's own size; the scope's box must contain them too. */
function withinBounds(
  request: LayoutRequest,
  centres: Point[],
  edges: { points: Point[]; label: Point }[],
  width: number,
  height: number,
): Omit<LayoutResult, "lanes"> {
  let [left, top] = [0, 0];
  let right = Number.isFinite(width) ? width : 0;
  let bottom = Number.isFinite(height) ? height : 0;
  const hold = ({ x, y }: Point, halfWidth: number, halfHeight: number) => {
    left = Math.min(left, x - halfWidth - MARGIN);
    right = Math.max(right, x + halfWidth + MARGIN);
    top = Math.min(top, y - halfHeight - MARGIN);
    bottom = Math.max(bottom, y + halfHeight + MARGIN);
  };
  request.boxes.forEach((box, i) => {
    hold(centres[i]!, box.width / 2, box.height / 2);
  });
  for (const { points } of edges) for (const point of points) hold(point, 0, 0);
  const shift = ({ x, y }: Point): Point => ({ x: x - left, y: y - top });
  return {
    width: right - left,
    height: bottom - top,
    centres: centres.map(shift),
    edges: edges.map(({ points, label }) => ({ points: points.map(shift), label: shift(label) })),
  };
}

/**
 * Keeps the layered layout's rows, so that data flows downwards across all lanes, and gives every lane a column:
 * within it, boxes of a row keep their order and move towards their neighbours.
 */
function inLanes(request: LayoutRequest, plain: LayoutResult): LayoutResult {
  const { boxes } = request;
  const place = new Map(boxes.map((box, i) => [box.id, i]));
  const neighbours = boxes.map(() => [] as number[]);
  for (const { from, to } of request.edges) {
    const a = place.get(from)!;
    const b = place.get(to)!;
    if (boxes[a]!.lane !== boxes[b]!.lane) continue;
    neighbours[a]!.push(b);
    neighbours[b]!.push(a);
  }
  const x = plain.centres.map((centre) => centre.x);
  const rows = new Map<string, number[]>();
  boxes.forEach((box, i) => {
    const key = `${box.lane}:${Math.round(plain.centres[i]!.y)}`;
    rows.set(key, [...(rows.get(key) ?? []), i]);
  });
  const gap = (a: number, b: number) => (boxes[a]!.width + boxes[b]!.width) / 2 + NODE_GAP;
  for (const row of rows.values()) {
    row.sort((a, b) => x[a]! - x[b]!);
    // Rows begin close together around the lane's middle; only the order of the layered layout is kept.
    const places = [0];
    for (let k = 1; k < row.length; k++) places.push(places[k - 1]! + gap(row[k - 1]!, row[k]!));
    const middle = places[places.length - 1]! / 2;
    row.forEach((i, k) => {
      x[i] = places[k]! - middle;
    });
  }
  for (let round = 0; round < 12; round++) {
    for (const row of rows.values()) {
      const wanted = row.map((i) => {
        const near = neighbours[i]!;
        return near.length ? near.reduce((sum, n) => sum + x[n]!, 0) / near.length : x[i]!;
      });
      spread(row, wanted, gap, x);
    }
  }
  const lanes: { x: number; width: number }[] = [];
  let left = 0;
  for (let lane = 0; lane < request.lanes; lane++) {
    const members = boxes.flatMap((box, i) => (box.lane === lane ? [i] : []));
    const low = Math.min(...members.map((i) => x[i]! - boxes[i]!.width / 2));
    const high = Math.max(...members.map((i) => x[i]! + boxes[i]!.width / 2));
    const width = members.length ? high - low + 2 * NODE_GAP : 80;
    for (const i of members) x[i] = x[i]! - low + left + NODE_GAP;
    lanes.push({ x: left, width });
    left += width + LANE_GAP;
  }
  const centres = plain.centres.map(({ y }, i) => ({ x: x[i]!, y }));
  const rowsAndPlaces = rowsOf(boxes, centres);
  const edges = request.edges.map(({ from, to }) =>
    route(place.get(from)!, place.get(to)!, boxes, centres, rowsAndPlaces),
  );
  return { width: left - LANE_GAP, height: plain.height, centres, edges, lanes };
}

/** Moves a row's boxes to the wanted places as far as their order and gaps allow. */
function spread(
  row: number[],
  wanted: number[],
  gap: (a: number, b: number) => number,
  x: number[],
): void {
  const left = wanted.slice();
  const right = wanted.slice();
  for (let k = 1; k < row.length; k++) {
    left[k] = Math.max(left[k]!, left[k - 1]! + gap(row[k - 1]!, row[k]!));
  }
  for (let k = row.length - 2; k >= 0; k--) {
    right[k] = Math.min(right[k]!, right[k + 1]! - gap(row[k]!, row[k + 1]!));
  }
  row.forEach((i, k) => {
    x[i] = (left[k]! + right[k]!) / 2;
  });
}

/** The boxes of one height in all lanes: the middle, half of the tallest box, and the parts that they take. */
interface Row {
  y: number;
  half: number;
  taken: [number, number][];
}

/** The rows from top to bottom, and the row of each box. */
function rowsOf(boxes: LayoutRequest["boxes"], centres: Point[]): { rows: Row[]; rowOf: number[] } {
  const byHeight = new Map<number, Row>();
  const rowAt = boxes.map(({ width, height }, i) => {
    const { x, y } = centres[i]!;
    const key = Math.round(y);
    const row = byHeight.get(key) ?? { y, half: 0, taken: [] };
    byHeight.set(key, row);
    row.half = Math.max(row.half, height / 2);
    row.taken.push([x - width / 2 - CLEARANCE, x + width / 2 + CLEARANCE]);
    return row;
  });
  const rows = [...byHeight.values()].sort((a, b) => a.y - b.y);
  for (const row of rows) {
    const apart: [number, number][] = [];
    for (const [left, right] of row.taken.sort((a, b) => a[0] - b[0])) {
      const last = apart[apart.length - 1];
      if (last && left < last[1]) last[1] = Math.max(last[1], right);
      else apart.push([left, right]);
    }
    row.taken = apart;
  }
  const place = new Map(rows.map((row, i) => [row, i]));
  return { rows, rowOf: rowAt.map((row) => place.get(row)!) };
}

/** The free place in a row that is nearest to `x`. */
function wayThrough({ taken }: Row, x: number): number {
  const inside = taken.find(([left, right]) => x > left && x < right);
  if (!inside) return x;
  return x - inside[0] < inside[1] - x ? inside[0] : inside[1];
}

/** Whether a row has no box between two places. */
function isFree({ taken }: Row, x: number, other: number): boolean {
  const [low, high] = [Math.min(x, other), Math.max(x, other)];
  return taken.every(([left, right]) => right <= low || left >= high);
}

/** An edge between rows: it leaves and enters boxes vertically, and passes between the boxes of other rows. */
function route(
  a: number,
  b: number,
  boxes: LayoutRequest["boxes"],
  centres: Point[],
  { rows, rowOf }: ReturnType<typeof rowsOf>,
): { points: Point[]; label: Point } {
  const [first, last] = [rows[rowOf[a]!]!, rows[rowOf[b]!]!];
  const sign = centres[b]!.y >= centres[a]!.y ? 1 : -1;
  const from = { x: centres[a]!.x, y: centres[a]!.y + (sign * boxes[a]!.height) / 2 };
  const to = { x: centres[b]!.x, y: centres[b]!.y - (sign * boxes[b]!.height) / 2 };
  const passed: { row: Row; x: number }[] = [];
  let x = from.x;
  for (let r = rowOf[a]! + sign; (rowOf[b]! - r) * sign > 0; r += sign) {
    const row = rows[r]!;
    const before = passed[passed.length - 1]?.row ?? first;
    x = wayThrough(row, x + ((to.x - x) * (row.y - before.y)) / (last.y - before.y));
    passed.push({ row, x });
  }
  passed.push({ row: last, x: to.x });

  const points: Point[] = [from];
  // Where the edge goes from one side to another: between rows, where its label has room.
  const turns: [Point, Point][] = [];
  let here: Point = { x: from.x, y: first.y + sign * first.half };
  for (let k = 0; k < passed.length; k++) {
    // Rows without a box between here and there need no detour.
    const start = k;
    const isDirect = (end: number) =>
      passed.slice(start, end).every(({ row }) => isFree(row, here.x, passed[end]!.x));
    while (k + 1 < passed.length && isDirect(k + 1)) k++;
    const { row, x } = passed[k]!;
    const there = { x, y: row.y - sign * row.half };
    const bend = (there.y - here.y) / 3;
    turns.push([here, there]);
    for (const [{ x, y }, shift] of [
      [here, 0],
      [here, 0.5],
      [here, 1],
      [there, -1],
      [there, -0.5],
      [there, 0],
    ] as const) {
      points.push({ x, y: y + shift * bend });
    }
    here = { x, y: row.y + sign * row.half };
  }
  points.push(to);
  const middle = (from.y + to.y) / 2;
  const far = ([p, q]: [Point, Point]) => Math.abs((p.y + q.y) / 2 - middle);
  const [p, q] = turns.reduce((best, one) => (far(one) < far(best) ? one : best));
  return { points, label: { x: (p.x + q.x) / 2, y: (p.y + q.y) / 2 } };
}

declare const WorkerGlobalScope: (new () => object) | undefined;

if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  self.onmessage = ({ data }: MessageEvent<{ ticket: number; request: LayoutRequest }>) => {
    try {
      self.postMessage({ ticket: data.ticket, result: layout(data.request) });
    } catch (error) {
      self.postMessage({ ticket: data.ticket, error: String(error) });
    }
  };
}
