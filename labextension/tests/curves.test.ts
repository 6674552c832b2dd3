import assert from "node:assert/strict";
import { test } from "node:test";
import { ticks } from "../src/render/curves.ts";

test("ticks are those of the saved picture", () => {
  assert.deepEqual(ticks(0, 1, 4), [0, 0.5, 1]);
  assert.deepEqual(ticks(0.13, 0.94, 4), [0.2, 0.4, 0.6, 0.8]);
  assert.deepEqual(ticks(1, 1, 4), [1]);
});
