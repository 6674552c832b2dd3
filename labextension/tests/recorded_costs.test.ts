/** What a record tells of memory and costs, and how nodes are told apart by it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { transferText } from "../src/render/arrangement.ts";
import { costsOf, MemoryCurve, markLive } from "../src/render/memory.ts";
import { Colouring, colourings } from "../src/render/palette.ts";
import { KIND, RunRecord } from "../src/render/run_record.ts";
import type { Cost } from "../src/render/scene.ts";
import { bytesText } from "../src/render/units.ts";
import { makeScene } from "./make_scene.ts";

const NOTHING = { feeds: [], fetches: [], targets: [], error: "", dropped: 0 };

/** Events as [time, node, kind, iteration or bytes]; tensors as [node, made, freed, bytes]. */
function makeRecord(
  events: [number, number, number, number][],
  tensors: [number, number, number, number][],
  elsewhere: [number[], number[]] = [[], []],
): RunRecord {
  const column = (i: number) => events.map((event) => event[i]!);
  const of = (i: number) => Float64Array.from(tensors, (row) => row[i]!);
  const zeros = new Int32Array(tensors.length);
  return new RunRecord(
    {
      ...NOTHING,
      version: 2,
      step: 1,
      durationNs: 100,
      events: events.length,
      frames: [[0, "", -1, 0]],
      tensors: tensors.length,
      forms: ["float32 2"],
      threads: ["pool-0"],
      elsewhere: elsewhere[0].length / 4,
    },
    Float64Array.from(column(0)),
    Int32Array.from(column(1)),
    new Int32Array(events.length),
    Int32Array.from(column(3)),
    Uint8Array.from(column(2)),
    {
      made: of(1),
      freed: of(2),
      bytes: of(3),
      node: Int32Array.from(tensors, (row) => row[0]),
      slot: zeros,
      iteration: zeros,
      form: zeros,
    },
    Int32Array.from(elsewhere[0]),
    Float64Array.from(elsewhere[1]),
  );
}

const RECORD = makeRecord(
  [
    [0, 0, KIND.started, 0],
    [10, 0, KIND.done, 0],
    [10, 1, KIND.started, 0],
    [20, 2, KIND.started, 0],
    [30, 2, KIND.sent, 64],
    [40, 2, KIND.done, 0],
    [60, 1, KIND.received, 64],
    [60, 1, KIND.done, 0],
  ],
  [
    [0, 10, 50, 1000],
    [2, 40, Number.POSITIVE_INFINITY, 500],
  ],
);

test("the curve of memory has its peak, and each moment its tensors", () => {
  const curve = new MemoryCurve(RECORD);
  assert.deepEqual([...curve.times], [10, 40, 50]);
  assert.deepEqual([...curve.held], [1000, 1500, 500]);
  assert.deepEqual([curve.peak, curve.peakNs], [1500, 40]);
  assert.deepEqual(curve.liveAt(9), []);
  assert.deepEqual(curve.liveAt(45), [0, 1]);
  assert.deepEqual(curve.liveAt(99), [1]);
});

test("costs count runs, time, waits, bytes; what is sent is part of its node", () => {
  const costs = costsOf(RECORD, 3, new MemoryCurve(RECORD)) as Cost[];
  assert.deepEqual([costs[0]!.runs, costs[0]!.ns, costs[0]!.bytes], [1, 10, 1000]);
  assert.deepEqual([costs[1]!.ns, costs[1]!.waited, costs[1]!.moved], [0, 50, 64]);
  assert.deepEqual([costs[2]!.ns, costs[2]!.waited, costs[2]!.moved], [20, 0, 64]);
  markLive(RECORD, costs, 20);
  assert.deepEqual(
    costs.map((cost) => cost.live),
    ["live", "", "later"],
  );
  markLive(RECORD, costs, 99);
  assert.deepEqual(
    costs.map((cost) => cost.live),
    ["freed", "", "live"],
  );
});

test("what a pool's thread ran is no wait", () => {
  const record = makeRecord(
    [
      [0, 0, KIND.started, 0],
      [5, 1, KIND.started, 0],
      [6, 1, KIND.done, 0],
      [40, 0, KIND.done, 0],
    ],
    [],
    [
      [0, 0, 0, 0],
      [2, 30],
    ],
  );
  assert.equal(record.executions[0]!.thread, 0);
  assert.deepEqual(record.span(record.executions[0]!), [2, 30]);
  const costs = costsOf(record, 2, new MemoryCurve(record)) as Cost[];
  assert.deepEqual([costs[0]!.ns, costs[0]!.waited], [28, 0]);
});

test("nodes are told apart by their share, with texts", () => {
  const scene = makeScene([
    { name: "a", op: "Send" },
    { name: "b", op: "Recv", inputs: [0] },
    { name: "c", op: "Neg" },
    { name: "d", op: "Neg" },
  ]);
  assert.deepEqual(colourings(scene), ["kind", "device", "partition"]);
  scene.costs = [...costsOf(RECORD, 3, new MemoryCurve(RECORD)), null];
  assert.ok(colourings(scene, true).includes("liveness"));
  const colouring = new Colouring("time", scene);
  const said = [0, 1, 2, 3].map((node) => colouring.categories[colouring.of[node]!]!.label);
  assert.deepEqual(said, [
    "≥ 20 % of the time",
    "below 1 % of the time",
    "≥ 20 % of the time",
    "did not run",
  ]);
  assert.equal(colouring.note(0), "10 ns, 33 %");
  assert.equal(transferText(scene, [0]), "64 B, waited 50 ns");
  assert.equal(bytesText(8192), "8.2 kB");
});
