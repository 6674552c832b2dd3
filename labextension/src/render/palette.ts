/**
 * Colours of categories, each with a pattern, so that none is told by colour alone.
 *
 * A category is painted as class `tfnb-cat-<n>`; the stylesheet knows the colours of both themes.
 */

import { svg } from "./dom.ts";
import type { Scene } from "./scene.ts";

export type ColourBy = "kind" | "device" | "partition";

export const COLOUR_NAMES: Record<ColourBy, string> = {
  kind: "Op kind",
  device: "Device",
  partition: "Partition",
};

/** Op kinds in the order of the legend; tfnb/notebook/op_kinds.py assigns them. */
export const KINDS = [
  "input",
  "constant",
  "state",
  "math",
  "array",
  "control",
  "transfer",
  "other",
] as const;

export const KIND_NAMES: Record<string, string> = {
  input: "input",
  constant: "constant",
  state: "state",
  math: "math",
  array: "array",
  control: "control flow",
  transfer: "transfer",
  other: "other",
};

export const CATEGORY_COUNT = 10;
const PATTERN_COUNT = 6;

export interface Category {
  /** What the legend says. */
  label: string;
  /** The colour's number. */
  colour: number;
  /** 0 is plain. */
  pattern: number;
}

/** Which category each node belongs to, under one way of colouring. */
export class Colouring {
  readonly categories: Category[] = [];
  readonly of: Uint16Array;
  private readonly prefix: Int32Array[] = [];

  constructor(
    readonly by: ColourBy,
    private readonly scene: Scene,
  ) {
    const number = new Map<string, number>();
    this.of = new Uint16Array(scene.count);
    const keys = Array.from({ length: scene.count }, (_, node) => keyOf(scene, node, by));
    for (const key of orderedKeys(new Set(keys), by)) {
      number.set(key, this.categories.length);
      this.categories.push(categoryOf(key, by, this.categories.length, scene));
    }
    keys.forEach((key, node) => {
      this.of[node] = number.get(key)!;
    });
    for (let c = 0; c < this.categories.length; c++) {
      const sums = new Int32Array(scene.count + 1);
      for (let i = 0; i < scene.count; i++) sums[i + 1] = sums[i]! + (this.of[i] === c ? 1 : 0);
      this.prefix.push(sums);
    }
  }

  /** How many nodes of each category lie in a range of nodes. */
  counts(first: number, end: number): number[] {
    return this.prefix.map((sums) => sums[end]! - sums[first]!);
  }

  get total(): number[] {
    return this.counts(0, this.scene.count);
  }
}

function keyOf(scene: Scene, node: number, by: ColourBy): string {
  if (by === "kind") return scene.opKind(node);
  if (by === "device") return scene.device(node);
  return String(scene.partition(node));
}

function orderedKeys(keys: Set<string>, by: ColourBy): string[] {
  if (by === "kind") return KINDS.filter((kind) => keys.has(kind));
  const sorted = [...keys].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return sorted;
}

function categoryOf(key: string, by: ColourBy, place: number, scene: Scene): Category {
  if (by === "kind") {
    const colour = KINDS.indexOf(key as (typeof KINDS)[number]);
    return { label: KIND_NAMES[key] ?? key, colour: Math.max(0, colour), pattern: 0 };
  }
  const isNone = by === "device" ? key === "" : key === "-1";
  if (isNone) {
    return { label: by === "device" ? "no device" : "not in the step", colour: 7, pattern: 0 };
  }
  const label = by === "device" ? shortDevice(key) : laneName(scene, Number(key));
  const colours = [3, 0, 2, 5, 4, 6, 1, 8, 9];
  return { label, colour: colours[place % colours.length]!, pattern: place % PATTERN_COUNT };
}

function laneName(scene: Scene, partition: number): string {
  const device = scene.partitions[partition];
  return device ? shortDevice(device) : `partition ${partition}`;
}

/** `/job:localhost/replica:0/task:0/device:CPU:0` -> `CPU:0`; other jobs keep their job and task. */
export function shortDevice(device: string): string {
  const match = /^\/job:([^/]*)\/replica:\d+\/task:(\d+)\/device:([^/]+)$/.exec(device);
  if (match === null) return device.replace(/^\/device:/, "");
  const [, job, task, rest] = match;
  return job === "localhost" ? rest! : `/job:${job}/task:${task}/${rest}`;
}

/** The patterns as SVG definitions; ids are made unique with `prefix`. */
export function patternDefinitions(prefix: string): SVGDefsElement {
  const defs = svg("defs");
  const lines: [number, string][] = [
    [1, "M-1 7L7 -1M-1 1L1 -1M5 7L7 5"],
    [2, "M2 2h.01M5 5h.01"],
    [3, "M-1 -1L7 7M5 -1L7 1M-1 5L1 7"],
    [4, "M0 3H6"],
    [5, "M3 0V6M0 3H6"],
  ];
  for (const [number, path] of lines) {
    const pattern = svg("pattern", {
      id: `${prefix}-pattern-${number}`,
      width: 6,
      height: 6,
      patternUnits: "userSpaceOnUse",
    });
    pattern.append(svg("path", { d: path, class: "tfnb-pattern-line" }));
    defs.append(pattern);
  }
  for (const kind of ["data", "control", "back", "lit"]) {
    const marker = svg("marker", {
      id: `${prefix}-arrow-${kind}`,
      class: `tfnb-arrow tfnb-arrow-${kind}`,
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 7,
      markerHeight: 7,
      markerUnits: "userSpaceOnUse",
      orient: "auto",
    });
    marker.append(svg("path", { d: "M0.5 1L7.5 4L0.5 7Z" }));
    defs.append(marker);
  }
  return defs;
}
