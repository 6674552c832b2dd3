/**
 * One scope's children and the edges between them, each bundle of edges as one.
 *
 * Four kinds of children do not take part in the layered layout, because they would spoil it:
 * a constant with one consumer is a dot *embedded* at that consumer; a child with very many neighbours (a *hub*) and
 * one without any neighbour are in the auxiliary area; edges of hubs are not drawn but marked as tails.
 */

import { CONTROL, type ItemId, ROOT, type Scene } from "./scene.ts";

export interface MetaEdge {
  from: ItemId;
  to: ItemId;
  /** The flat edges in the bundle. */
  edges: number[];
  controls: number;
  isBack: boolean;
}

export interface Metagraph {
  scope: number;
  items: ItemId[];
  edges: MetaEdge[];
  auxiliary: ItemId[];
  /** Consumer -> the constants drawn as dots at it. */
  embedded: Map<ItemId, ItemId[]>;
  /** Items with inputs from, or outputs to, boxes that are not drawn beside them. */
  hasInputTail: Set<ItemId>;
  hasOutputTail: Set<ItemId>;
}

const MIN_CROWD = 12;
const MIN_HUB_DEGREE = 8;

/** The child of `scope` that contains `node`, or -1 if the node is outside. */
export function childHolding(scene: Scene, scope: number, node: number): ItemId {
  let item: ItemId = node;
  let parent = scene.parentOf(item);
  while (parent !== scope) {
    if (parent <= ROOT) return -1;
    item = scene.scopeItem(parent);
    parent = scene.parentOf(item);
  }
  return item;
}

/** `keepAll` leaves hubs and loose children in the layout, as lanes do. */
export function metagraph(scene: Scene, scope: number, keepAll = false): Metagraph {
  const children = scene.children(scope);
  const hasInputTail = new Set<ItemId>();
  const hasOutputTail = new Set<ItemId>();
  const bundles = bundle(scene, scope, hasInputTail, hasOutputTail);
  const neighbours = countNeighbours(children, bundles);

  const embedded = new Map<ItemId, ItemId[]>();
  const gone = new Set<ItemId>();
  for (const item of children) {
    const consumer = soleConsumer(scene, item, neighbours, hasOutputTail);
    if (consumer === null) continue;
    gone.add(item);
    embedded.set(consumer, [...(embedded.get(consumer) ?? []), item]);
  }
  const auxiliary: ItemId[] = [];
  const hubs = new Set<ItemId>();
  const rest = children.filter((item) => !gone.has(item));
  const limit = Math.max(MIN_HUB_DEGREE, 1.5 * Math.sqrt(rest.length));
  if (!keepAll) {
    for (const item of rest) {
      const { inputs, outputs } = neighbours.get(item)!;
      const degree = inputs.size + outputs.size;
      const isHub = rest.length >= MIN_CROWD && degree > limit;
      if (isHub || scene.isAside(item)) hubs.add(item);
    }
    const linked = new Set<ItemId>();
    for (const { from, to } of bundles) {
      if (gone.has(from) || hubs.has(from) || hubs.has(to)) continue;
      linked.add(from);
      linked.add(to);
    }
    const loose = rest.filter((item) => !linked.has(item) && !embedded.has(item));
    if (loose.length < rest.length || rest.length > MIN_CROWD) auxiliary.push(...loose);
    else auxiliary.push(...loose.filter((item) => hubs.has(item)));
    for (const item of embedded.keys()) {
      if (!linked.has(item) && hubs.has(item)) auxiliary.push(item);
    }
    for (const { from, to } of bundles) {
      if (hubs.has(from)) hasInputTail.add(to);
      if (hubs.has(to)) hasOutputTail.add(from);
    }
  }
  const aside = new Set(auxiliary);
  const isDrawn = (item: ItemId) => !gone.has(item) && !aside.has(item);
  return {
    scope,
    items: rest.filter((item) => !aside.has(item)),
    edges: bundles.filter(({ from, to }) => isDrawn(from) && isDrawn(to)),
    auxiliary,
    embedded,
    hasInputTail,
    hasOutputTail,
  };
}

/** The lanes of a partitioned graph as one metagraph: every lane's children, and the edges between lanes. */
export function laneMetagraph(scene: Scene): Metagraph {
  const whole: Metagraph = {
    scope: ROOT,
    items: [],
    edges: [],
    auxiliary: [],
    embedded: new Map(),
    hasInputTail: new Set(),
    hasOutputTail: new Set(),
  };
  const laneOf = new Int32Array(scene.count).fill(-1);
  for (const lane of scene.innerScopes(ROOT)) {
    const part = metagraph(scene, lane, true);
    whole.items.push(...part.items);
    whole.edges.push(...part.edges);
    for (const [consumer, constants] of part.embedded) whole.embedded.set(consumer, constants);
    const [first, end] = scene.range(scene.scopeItem(lane));
    laneOf.fill(lane, first, end);
  }
  const crossing = new Map<string, MetaEdge>();
  for (let e = 0; e < scene.src.length; e++) {
    const [from, to] = [scene.src[e]!, scene.dst[e]!];
    if (laneOf[from] === laneOf[to]) continue;
    const ends = {
      from: childHolding(scene, laneOf[from]!, from),
      to: childHolding(scene, laneOf[to]!, to),
    };
    const key = `${ends.from}>${ends.to}`;
    const found = crossing.get(key) ?? { ...ends, edges: [], controls: 0, isBack: false };
    found.edges.push(e);
    crossing.set(key, found);
  }
  whole.edges.push(...crossing.values());
  return whole;
}

function bundle(
  scene: Scene,
  scope: number,
  hasInputTail: Set<ItemId>,
  hasOutputTail: Set<ItemId>,
): MetaEdge[] {
  const [first, end] = scene.range(scene.scopeItem(scope));
  const holder = new Map<number, ItemId>();
  const lift = (node: number): ItemId => {
    let item = holder.get(node);
    if (item === undefined) {
      item = childHolding(scene, scope, node);
      holder.set(node, item);
    }
    return item;
  };
  const bundles = new Map<string, MetaEdge>();
  for (let e = scene.inStart[first]!; e < scene.inStart[end]!; e++) {
    const to = lift(scene.dst[e]!);
    const source = scene.src[e]!;
    if (source < first || source >= end) {
      hasInputTail.add(to);
      continue;
    }
    const from = lift(source);
    if (from === to) continue;
    const key = `${from}>${to}`;
    let found = bundles.get(key);
    if (found === undefined) {
      found = { from, to, edges: [], controls: 0, isBack: true };
      bundles.set(key, found);
    }
    found.edges.push(e);
    if (scene.dstSlot[e] === CONTROL) found.controls++;
    found.isBack &&= scene.isBackEdge(e);
  }
  for (let node = first; node < end; node++) {
    for (let k = scene.outStart[node]!; k < scene.outStart[node + 1]!; k++) {
      const consumer = scene.dst[scene.outEdges[k]!]!;
      if (consumer < first || consumer >= end) hasOutputTail.add(lift(node));
    }
  }
  return [...bundles.values()];
}

interface Neighbours {
  inputs: Set<ItemId>;
  outputs: Set<ItemId>;
}

function countNeighbours(children: ItemId[], bundles: MetaEdge[]): Map<ItemId, Neighbours> {
  const found = new Map<ItemId, Neighbours>(
    children.map((item) => [item, { inputs: new Set(), outputs: new Set() }]),
  );
  for (const { from, to } of bundles) {
    found.get(from)!.outputs.add(to);
    found.get(to)!.inputs.add(from);
  }
  return found;
}

function soleConsumer(
  scene: Scene,
  item: ItemId,
  neighbours: Map<ItemId, Neighbours>,
  hasOutputTail: Set<ItemId>,
): ItemId | null {
  if (scene.isScope(item) || !["Const", "HostConst"].includes(scene.op(item))) return null;
  if (!["", "same"].includes(scene.change(item))) return null; // nodes that a pass changed stay visible
  const { outputs } = neighbours.get(item)!;
  if (outputs.size !== 1 || hasOutputTail.has(item)) return null;
  const [consumer] = outputs;
  // A constant feeding a constant (a control edge) keeps both as boxes.
  return !scene.isScope(consumer!) && scene.op(consumer!) === "Const" ? null : consumer!;
}
