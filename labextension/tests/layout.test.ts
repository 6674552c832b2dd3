/** Layouts: data flows downwards, boxes stay apart, lanes stay lanes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type LayoutRequest, layout, type Point } from "../src/layout/layout_worker.ts";
import { spline } from "../src/render/glyphs.ts";

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

/** Points of an edge as it is drawn. */
function drawn(points: Point[]): Point[] {
  const numbers = spline(points)
    .split(/[MCL ]/)
    .filter(Boolean)
    .map(Number);
  const [start, ...rest] = Array.from({ length: numbers.length / 2 }, (_, i) => ({
    x: numbers[2 * i]!,
    y: numbers[2 * i + 1]!,
  }));
  const found = [start!];
  for (let i = 0; i + 2 < rest.length; i += 3) {
    const [p, q, r, s] = [i ? rest[i - 1]! : start!, rest[i]!, rest[i + 1]!, rest[i + 2]!];
    for (let t = 0.05; t < 1.01; t += 0.05) {
      const mix = (a: number, b: number, c: number, d: number) =>
        a * (1 - t) ** 3 + 3 * b * t * (1 - t) ** 2 + 3 * c * t * t * (1 - t) + d * t ** 3;
      found.push({ x: mix(p.x, q.x, r.x, s.x), y: mix(p.y, q.y, r.y, s.y) });
    }
  }
  return found;
}

/** Pairs of edge and box where the edge, as it is drawn, touches a box that is not at its ends. */
function hidden(request: LayoutRequest): string[] {
  const { centres, edges } = layout(request);
  return request.edges.flatMap(({ from, to }, e) =>
    request.boxes.flatMap(({ id, width, height }, i) => {
      const { x, y } = centres[i]!;
      const isHit = drawn(edges[e]!.points).some(
        (p) => Math.abs(p.x - x) < width / 2 + 1 && Math.abs(p.y - y) < height / 2 + 1,
      );
      return isHit && id !== from && id !== to ? [`${from}>${to} touches ${id}`] : [];
    }),
  );
}

test("an edge in a lane passes beside the boxes between its ends", () => {
  const boxes = [box(0, 0), box(1, 0), box(2, 0), box(3, 1)];
  const edges = [edge(0, 1), edge(1, 2), edge(0, 2), edge(2, 0, true), edge(0, 3), edge(3, 2)];

  assert.deepEqual(hidden({ boxes, edges, lanes: 2 }), []);
});

test("edges of lanes pass beside boxes of any size", () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 40; round++) {
    const count = 4 + random(24);
    const boxes = Array.from({ length: count }, (_, id) => ({
      id,
      width: 40 + random(160),
      height: 24 + (random(4) === 0 ? random(200) : 0),
      lane: random(3),
    }));
    const edges = Array.from({ length: 2 * count }, () => {
      const [a, b] = [random(count), random(count)];
      return edge(Math.min(a, b), Math.max(a, b));
    }).filter(({ from, to }) => from !== to);

    assert.deepEqual(hidden({ boxes, edges, lanes: 3 }), [], `round ${round}`);
  }
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
