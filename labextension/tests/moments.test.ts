import assert from "node:assert/strict";
import { test } from "node:test";
import { Moments } from "../src/widget/moments.ts";

/** Graphs that are there when the test says so, and what was shown of them. */
function scripted() {
  const shown: string[] = [];
  const waiting: [string, () => void][] = [];
  const moments = new Moments<string, number, number>(
    (scene) => new Promise((done) => waiting.push([scene, done])),
    ({ scene, states, counters }) => shown.push(`${scene} ${states} ${counters}`),
  );
  const take = (scene: string, number: number) =>
    moments.take({ scene, states: number, counters: number });
  const finish = async (scene: string) => {
    const [found, done] = waiting.shift()!;
    assert.equal(found, scene);
    done();
    await new Promise((go) => setImmediate(go));
  };
  return { shown, waiting, take, finish };
}

test("a moment waits for its graph, and the latest of it is shown", async () => {
  const { shown, take, finish } = scripted();
  take("a", 1);
  take("a", 2);
  assert.deepEqual(shown, []);
  await finish("a");
  take("a", 3);
  assert.deepEqual(shown, ["a 2 2", "a 3 3"]);
});

test("graphs are drawn one after the other, and go on being fed", async () => {
  const { shown, waiting, take, finish } = scripted();
  take("a", 1);
  take("b", 2);
  take("c", 3);
  await finish("a");
  assert.equal(waiting.length, 1);
  take("c", 4);
  await finish("c");
  take("c", 5);
  assert.deepEqual(shown, ["a 1 1", "c 4 4", "c 5 5"]);
});

test("graphs that change faster than they are drawn are seen, each with its own moment", async () => {
  const { shown, take, finish } = scripted();
  take("a", 1);
  for (let i = 2; i < 8; i += 2) {
    take("b", i);
    await finish("a");
    take("a", i + 1);
    await finish("b");
  }
  assert.deepEqual(shown, ["a 1 1", "b 2 2", "a 3 3", "b 4 4", "a 5 5", "b 6 6"]);
});
