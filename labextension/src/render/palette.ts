/**
 * Colours of categories, each with a pattern, so that no category depends on colour alone.
 *
 * A category is painted as class `tfnb-cat-<n>`; the stylesheet defines the colours of both themes.
 */

import { svg } from "./dom.ts";
import type { Cost, Scene } from "./scene.ts";
import { bytesText, duration } from "./units.ts";

export type ColourBy =
  | "state"
  | "change"
  | "kind"
  | "device"
  | "partition"
  | "group"
  | "time"
  | "memory"
  | "liveness";

export const COLOUR_NAMES: Record<ColourBy, string> = {
  state: "State",
  change: "Change",
  kind: "Op kind",
  device: "Device",
  partition: "Partition",
  group: "Colocation",
  time: "Time",
  memory: "Memory",
  liveness: "Liveness",
};

/** The properties by which a scene's nodes can be coloured. */
export function colourings(scene: Scene, hasStates = false): ColourBy[] {
  const found: ColourBy[] = ["kind", "device", "partition"];
  if (hasStates) found.unshift("state");
  if (scene.has("change")) found.unshift("change");
  if (scene.has("colocated")) found.push("group");
  if (scene.costs) found.push("time", "memory", "liveness");
  return found;
}

/** Label, colour and pattern of fixed categories; a denser pattern stands for more. */
type Fixed = Record<string, [string, number, number]>;

const CHANGES: Fixed = {
  same: ["unchanged", 7, 0],
  removed: ["removed", 6, 3],
  folded: ["folded", 2, 1],
  merged: ["merged", 5, 4],
  inlined: ["inlined", 8, 5],
  added: ["added", 4, 2],
  changed: ["another op", 3, 1],
  rewired: ["other inputs", 0, 2],
};

const LIVENESS: Fixed = {
  live: ["held", 4, 5],
  freed: ["let go", 2, 2],
  later: ["not yet made", 3, 1],
  none: ["makes none", 7, 0],
};

/** Shares of the whole, the largest first; a node is in the first one that it reaches. */
const SHARES = [0.2, 0.05, 0.01, 0];
const SHARE_LOOKS: [number, number][] = [
  [6, 5],
  [8, 3],
  [2, 1],
  [0, 2],
  [7, 0],
];

function shareLabel(step: number, by: "time" | "memory"): string {
  const what = by === "time" ? "of the time" : "of the bytes";
  if (step === SHARES.length) return by === "time" ? "did not run" : "makes none";
  return step === SHARES.length - 1
    ? `below ${100 * SHARES[step - 1]!} % ${what}`
    : `≥ ${100 * SHARES[step]!} % ${what}`;
}

/** Op kinds in the order of the legend; tfnb/notebook/scenes/op_kinds.py assigns them. */
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
  /** The text in the legend. */
  label: string;
  /** The colour's number. */
  colour: number;
  /** 0 is plain. */
  pattern: number;
}

/** The category of each node, for one way of colouring. */
export class Colouring {
  readonly categories: Category[] = [];
  readonly of: Uint16Array;
  private readonly prefix: Int32Array[] = [];

  private readonly whole: number = 0;

  constructor(
    readonly by: ColourBy,
    private readonly scene: Scene,
  ) {
    if (by === "time" || by === "memory") {
      this.whole = (scene.costs ?? []).reduce((sum, cost) => sum + amount(cost, by), 0);
    }
    const number = new Map<string, number>();
    this.of = new Uint16Array(scene.count);
    const keys = Array.from({ length: scene.count }, (_, node) => this.keyOf(node));
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

  /** The value behind a node's category, "" for colourings without one. */
  note(node: number): string {
    const { by } = this;
    const cost = this.scene.costs?.[node];
    if (!cost || (by !== "time" && by !== "memory")) return "";
    const what = amount(cost, by);
    if (what === 0) return "";
    return `${by === "time" ? duration(what) : bytesText(what)}, ${percent(what / this.whole)}`;
  }

  private keyOf(node: number): string {
    const { by, scene } = this;
    const cost = scene.costs?.[node];
    switch (by) {
      case "kind":
      case "state":
        return scene.opKind(node);
      case "device":
        return scene.device(node);
      case "partition":
        return String(scene.partition(node));
      case "group":
        return scene.colocated(node);
      case "change":
        return scene.change(node) || "same";
      case "liveness":
        return cost?.live || "none";
      default: {
        const what = cost ? amount(cost, by) : 0;
        const took = by === "time" ? (cost?.runs ?? 0) > 0 : what > 0;
        const share = this.whole > 0 ? what / this.whole : 0;
        return String(took ? SHARES.findIndex((least) => share >= least) : SHARES.length);
      }
    }
  }

  get total(): number[] {
    return this.counts(0, this.scene.count);
  }
}

function amount(cost: Cost | null, by: "time" | "memory"): number {
  return (by === "time" ? cost?.ns : cost?.bytes) ?? 0;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

const FIXED: Partial<Record<ColourBy, Fixed>> = { change: CHANGES, liveness: LIVENESS };

function orderedKeys(keys: Set<string>, by: ColourBy): string[] {
  if (by === "kind" || by === "state") return KINDS.filter((kind) => keys.has(kind));
  const fixed = FIXED[by];
  if (fixed) return Object.keys(fixed).filter((key) => keys.has(key));
  const sorted = [...keys].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return sorted;
}

function categoryOf(key: string, by: ColourBy, place: number, scene: Scene): Category {
  if (by === "kind" || by === "state") {
    const colour = KINDS.indexOf(key as (typeof KINDS)[number]);
    return { label: KIND_NAMES[key] ?? key, colour: Math.max(0, colour), pattern: 0 };
  }
  const fixed = FIXED[by]?.[key];
  if (fixed) return { label: fixed[0], colour: fixed[1], pattern: fixed[2] };
  if (by === "time" || by === "memory") {
    const [colour, pattern] = SHARE_LOOKS[Number(key)]!;
    return { label: shareLabel(Number(key), by), colour, pattern };
  }
  const isNone = by === "partition" ? key === "-1" : key === "";
  if (isNone) {
    const none = { device: "no device", group: "in no group", partition: "not in the step" };
    return { label: none[by as "device"], colour: 7, pattern: 0 };
  }
  const label =
    by === "device" ? shortDevice(key) : by === "group" ? key : laneName(scene, Number(key));
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
