/** Layouts: data flows downwards, boxes stay apart, lanes stay lanes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type LayoutRequest, layout } from "../src/layout/layout_worker.ts";

const edge = (from: number, to: number, isBack = false): LayoutRequest["edges"][number] => ({
  from,
  to,
  isBack,
  weight: 1,
  labelWidth: 0,
  labelHeight: 0,
});
const box = (id: number, lane = -1) => ({ id, width: 60, height: 24, lane });

test("an edge that closes a loop leads up, the loop's body down", () => {
  const { centres, edges } = layout({
    boxes: [box(0), box(1), box(2)],
    edges: [edge(0, 1), edge(1, 2), edge(2, 0, true)],
    lanes: 0,
  });
  const [merge, body, next] = centres;

  assert.ok(merge!.y < body!.y && body!.y < next!.y);
  const { points } = edges[2]!;
  assert.ok(points[0]!.y > points[points.length - 1]!.y);
});

test("boxes of a lane stay within it, and lanes do not overlap", () => {
  const boxes = Array.from({ length: 20 }, (_, id) => box(id, id % 2));
  const edges = boxes.slice(1).map(({ id }) => edge(Math.floor((id - 1) / 2), id));
  const { centres, lanes } = layout({ boxes, edges, lanes: 2 });

  boxes.forEach(({ lane, width }, i) => {
    const { x, width: room } = lanes[lane]!;
    assert.ok(centres[i]!.x - width / 2 >= x && centres[i]!.x + width / 2 <= x + room);
  });
  assert.ok(lanes[0]!.x + lanes[0]!.width <= lanes[1]!.x);
});

test("boxes of one row stay apart in a lane", () => {
  const boxes = [box(0, 0), ...Array.from({ length: 6 }, (_, i) => box(i + 1, 0))];
  const edges = boxes.slice(1).map(({ id }) => edge(0, id));
  const { centres } = layout({ boxes, edges, lanes: 1 });
  const row = centres.slice(1).sort((a, b) => a.x - b.x);

  for (let i = 1; i < row.length; i++) assert.ok(row[i]!.x - row[i - 1]!.x >= 60);
});

test("data flows to the right where that is asked for", () => {
  const boxes = [box(0), box(1), box(2)];
  const { centres, width, height } = layout({
    boxes,
    edges: [edge(0, 1), edge(1, 2)],
    lanes: 0,
    direction: "right",
  });
  const [a, b, c] = centres;

  assert.ok(a!.x + 60 <= b!.x && b!.x + 60 <= c!.x);
  assert.equal(a!.y, c!.y);
  assert.ok(width > height);
});

test("nothing to place is a layout too", () => {
  assert.deepEqual(layout({ boxes: [], edges: [], lanes: 0 }).centres, []);
});
