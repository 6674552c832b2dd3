/**
 * A scene from Python (tfnb/notebook/scenes/scene.py): nodes in drawing order, scopes as contiguous ranges
 * of nodes, flat edges sorted by destination.  Immutable.
 *
 * An *item* is anything drawn as a box: node i is item i, scope s is item count + s.
 */

import { inflate } from "./inflate.ts";
import { cutApart } from "./names.ts";

export type ItemId = number;

export interface Site {
  cell: number | null;
  file: string;
  line: number;
  func: string;
  text: string;
}

/** The cost of a node in one recorded step; times in nanoseconds. */
export interface Cost {
  runs: number;
  ns: number;
  bytes: number;
  /** The bytes of its outputs that were held when the step held most. */
  peak: number;
  moved: number;
  waited: number;
  /** "live", "freed" or "later" at a time; "" for a node without tensors. */
  live: string;
}

type CostRow = [number, number, number, number, number, number, string];

interface Payload {
  version: number;
  title: string;
  layout?: "nested" | "lanes";
  /** Items beside the data flow: summaries, savers, initializers. */
  aside?: number[];
  /** A note about the whole graph. */
  note?: string;
  nodes: {
    name: string[];
    op: number[];
    scope: number[];
    requested: number[];
    assigned: number[];
    partition: number[];
    attrs: number[];
    outputs: number[];
    site: number[];
    reason: number[];
    allowed?: number[];
    kernel?: number[];
    colocated?: number[];
    touched?: number[];
    change?: number[];
    cost?: (CostRow | [])[];
  };
  scopes: {
    label: string[];
    path: string[];
    parent: number[];
    kind: string[];
    first: number[];
    end: number[];
  };
  edges: number[];
  partitions: string[];
  opKinds: Record<string, string>;
  attrSets: number[][];
  outputSets: number[][];
  sites: [number | null, string, number, string, string][];
  strings: string[];
}

export const CONTROL = -1;
const MAX_LABEL = 26;
export const ROOT = 0;
const VERSION = 1;

export class Scene {
  readonly count: number;
  readonly scopeCount: number;
  readonly title: string;
  readonly partitions: readonly string[];
  readonly isLanes: boolean;
  readonly note: string;
  private readonly aside: ReadonlySet<ItemId>;
  /** Edge e joins src[e]:srcSlot[e] to dst[e]:dstSlot[e]; slots are CONTROL for control edges. */
  readonly src: Int32Array;
  readonly srcSlot: Int32Array;
  readonly dst: Int32Array;
  readonly dstSlot: Int32Array;
  /** Edges into node i are inStart[i] .. inStart[i + 1]; edges out of it are outEdges[outStart[i]] … */
  readonly inStart: Int32Array;
  readonly outStart: Int32Array;
  readonly outEdges: Int32Array;
  /** By node, null for nodes that did not run; null as a whole if no step was recorded. */
  costs: (Cost | null)[] | null = null;
  private readonly childScopes: number[][] = [];
  private readonly childNodes: number[][] = [];
  private readonly shortLabels = new Map<number, Map<ItemId, string>>();

  constructor(private readonly payload: Payload) {
    if (payload.version !== VERSION) {
      throw new Error(
        `This scene has version ${payload.version}; version ${VERSION} is understood.`,
      );
    }
    const { nodes, scopes, edges } = payload;
    this.title = payload.title;
    this.count = nodes.name.length;
    this.scopeCount = scopes.label.length;
    this.partitions = payload.partitions;
    this.isLanes = payload.layout === "lanes";
    this.note = payload.note ?? "";
    this.aside = new Set(payload.aside);
    const edgeCount = edges.length / 4;
    this.src = new Int32Array(edgeCount);
    this.srcSlot = new Int32Array(edgeCount);
    this.dst = new Int32Array(edgeCount);
    this.dstSlot = new Int32Array(edgeCount);
    for (let e = 0; e < edgeCount; e++) {
      this.src[e] = edges[4 * e]!;
      this.srcSlot[e] = edges[4 * e + 1]!;
      this.dst[e] = edges[4 * e + 2]!;
      this.dstSlot[e] = edges[4 * e + 3]!;
    }
    this.inStart = offsets(this.dst, this.count);
    this.outStart = offsets(this.src, this.count);
    this.outEdges = new Int32Array(edgeCount);
    const next = this.outStart.slice();
    for (let e = 0; e < edgeCount; e++) this.outEdges[next[this.src[e]!]!++] = e;
    if (nodes.cost) {
      this.costs = nodes.cost.map(([runs, ns, bytes, peak, moved, waited, live]) =>
        runs === undefined
          ? null
          : {
              runs,
              ns: ns!,
              bytes: bytes!,
              peak: peak!,
              moved: moved!,
              waited: waited!,
              live: live!,
            },
      );
    }
    for (let s = 0; s < this.scopeCount; s++) {
      this.childScopes.push([]);
      this.childNodes.push([]);
      if (s !== ROOT) this.childScopes[scopes.parent[s]!]!.push(s);
    }
    nodes.scope.forEach((scope, node) => {
      this.childNodes[scope]!.push(node);
    });
  }

  isScope(item: ItemId): boolean {
    return item >= this.count;
  }

  /** Whether a box stands beside the data flow, even if it has edges. */
  isAside(item: ItemId): boolean {
    return this.aside.has(item);
  }

  scopeItem(scope: number): ItemId {
    return this.count + scope;
  }

  /** The number of a scope among scopes. */
  scopeOfItem(item: ItemId): number {
    return item - this.count;
  }

  /** The scope that contains a box, -1 for the whole graph. */
  parentOf(item: ItemId): number {
    return this.isScope(item)
      ? this.payload.scopes.parent[item - this.count]!
      : this.payload.nodes.scope[item]!;
  }

  children(scope: number): ItemId[] {
    return [
      ...this.childNodes[scope]!,
      ...this.childScopes[scope]!.map((inner) => this.scopeItem(inner)),
    ];
  }

  hasScopes(scope: number): boolean {
    return this.childScopes[scope]!.length > 0;
  }

  innerScopes(scope: number): readonly number[] {
    return this.childScopes[scope]!;
  }

  range(item: ItemId): [number, number] {
    if (!this.isScope(item)) return [item, item + 1];
    const scope = item - this.count;
    return [this.payload.scopes.first[scope]!, this.payload.scopes.end[scope]!];
  }

  size(item: ItemId): number {
    const [first, end] = this.range(item);
    return end - first;
  }

  scopeKind(scope: number): string {
    return this.payload.scopes.kind[scope]!;
  }

  name(item: ItemId): string {
    if (!this.isScope(item)) return this.payload.nodes.name[item]!;
    const scope = item - this.count;
    const { path, label, kind } = this.payload.scopes;
    return kind[scope] === "scope" ? path[scope]! || "graph" : label[scope]!;
  }

  /** The box's label: the name without the part that its scope's label has. */
  label(item: ItemId): string {
    if (this.isScope(item)) return this.payload.scopes.label[item - this.count] || '""';
    const name = this.payload.nodes.name[item]!;
    const path = this.payload.scopes.path[this.payload.nodes.scope[item]!]!;
    if (!path) return name;
    if (name === path) return `(${name.slice(name.lastIndexOf("/") + 1)})`;
    // The Send and the Recv of a node: their number alone would not say of which.
    const copy = /([^/]+\/_\d+)$/.exec(name);
    if (copy !== null) return copy[1]!;
    return name.startsWith(`${path}/`) ? name.slice(path.length + 1) : name;
  }

  /** The label as far as a box has room, cut so that it differs from its neighbours'. */
  shortLabel(item: ItemId): string {
    const label = this.label(item);
    if (label.length <= MAX_LABEL) return label;
    const scope = this.parentOf(item);
    let cut = this.shortLabels.get(scope);
    if (cut === undefined) {
      const children = this.children(scope);
      const texts = cutApart(
        children.map((child) => this.label(child)),
        MAX_LABEL,
      );
      cut = new Map(children.map((child, i) => [child, texts[i]!]));
      this.shortLabels.set(scope, cut);
    }
    return cut.get(item)!;
  }

  op(node: number): string {
    return this.text(this.payload.nodes.op[node]!);
  }

  opKind(node: number): string {
    return this.payload.opKinds[this.payload.nodes.op[node]!] ?? "other";
  }

  requestedDevice(node: number): string {
    return this.text(this.payload.nodes.requested[node]!);
  }

  assignedDevice(node: number): string {
    return this.text(this.payload.nodes.assigned[node]!);
  }

  /** The device to show: where the node runs, else the device that the user requested. */
  device(node: number): string {
    return this.assignedDevice(node) || this.requestedDevice(node);
  }

  partition(node: number): number {
    return this.payload.nodes.partition[node]!;
  }

  reason(node: number): string {
    return this.text(this.payload.nodes.reason[node]!);
  }

  /** The devices among which the placer chose. */
  allowed(node: number): string {
    return this.extra("allowed", node);
  }

  kernel(node: number): string {
    return this.extra("kernel", node);
  }

  /** The first of the nodes that must share a device with this one. */
  colocated(node: number): string {
    return this.extra("colocated", node);
  }

  /** The passes' reports about the node. */
  touched(node: number): string[] {
    return this.extra("touched", node).split("\n").filter(Boolean);
  }

  /** The change of the node by a pass. */
  change(node: number): string {
    return this.extra("change", node);
  }

  /** Whether any node has a change, a group. */
  has(what: "change" | "colocated"): boolean {
    return this.payload.nodes[what] !== undefined;
  }

  private extra(
    what: "allowed" | "kernel" | "colocated" | "touched" | "change",
    node: number,
  ): string {
    const column = this.payload.nodes[what];
    return column ? this.text(column[node]!) : "";
  }

  attrs(node: number): [string, string][] {
    return this.pairs(this.payload.attrSets[this.payload.nodes.attrs[node]!]!);
  }

  /** (dtype, shape) of each output. */
  outputs(node: number): [string, string][] {
    return this.pairs(this.payload.outputSets[this.payload.nodes.outputs[node]!]!);
  }

  site(node: number): Site | null {
    const site = this.payload.sites[this.payload.nodes.site[node]!];
    if (site === undefined) return null;
    const [cell, file, line, func, text] = site;
    return { cell, file, line, func, text };
  }

  /** NextIteration -> Merge: the edge that closes a loop. */
  isBackEdge(edge: number): boolean {
    return this.op(this.src[edge]!).endsWith("NextIteration");
  }

  private text(index: number): string {
    return this.payload.strings[index]!;
  }

  private pairs(flat: number[]): [string, string][] {
    const found: [string, string][] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) {
      found.push([this.text(flat[i]!), this.text(flat[i + 1]!)]);
    }
    return found;
  }
}

function offsets(keys: Int32Array, count: number): Int32Array {
  const start = new Int32Array(count + 1);
  for (const key of keys) start[key + 1]!++;
  for (let i = 0; i < count; i++) start[i + 1]! += start[i]!;
  return start;
}

/** Decodes the deflated JSON of Scene.encode() in Python. */
export async function decodeScene(bytes: Uint8Array<ArrayBuffer>): Promise<Scene> {
  return new Scene(JSON.parse(new TextDecoder().decode(await inflate(bytes))) as Payload);
}
