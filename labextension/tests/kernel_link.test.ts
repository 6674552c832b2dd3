/** The page's end of a kernel: what counts after a restart. */

import assert from "node:assert/strict";
import test from "node:test";

import type { IopubMessage, Kernel } from "../src/lab/jupyter.ts";

// The module listens for input as soon as it is loaded.
Object.assign(globalThis, {
  document: { addEventListener: () => {} },
  window: { setInterval: () => 0, clearInterval: () => {} },
});
const { KernelLink } = await import("../src/lab/kernel_link.ts");

class FakeSignal<T> {
  private readonly slots: ((sender: unknown, args: T) => void)[] = [];
  connect(slot: (sender: unknown, args: T) => void): void {
    this.slots.push(slot);
  }
  disconnect(): void {}
  emit(args: T): void {
    for (const slot of this.slots) slot(this, args);
  }
}

test("a snapshot that comes after the restart of its kernel is not shown", () => {
  const iopubMessage = new FakeSignal<IopubMessage>();
  const statusChanged = new FakeSignal<string>();
  const asked: string[] = [];
  const kernel = {
    clientId: "page",
    username: "",
    status: "idle",
    iopubMessage,
    statusChanged,
    sendShellMessage: (message: { content: { data: { request: string } } }) => {
      asked.push(message.content.data.request);
    },
    requestCommInfo: async () => ({ content: {} }),
    requestExecute: () => {},
    dispose: () => {},
  };
  const link = new KernelLink("1", kernel as unknown as Kernel, "a.ipynb", "a");
  const say = (data: object) =>
    iopubMessage.emit({
      header: { msg_type: "comm_msg" },
      content: { comm_id: "tfnb.lab", data },
    });
  say({ kind: "hello", kernel: "first" });
  say({ kind: "snapshot", sessions: [], views: {} });
  assert.ok(link.snapshot);
  statusChanged.emit("restarting");
  assert.equal(link.snapshot, null);
  say({ kind: "snapshot", sessions: [], views: {} });
  assert.equal(link.snapshot, null);
  assert.equal(asked.at(-1), "hello");
  say({ kind: "hello", kernel: "second" });
  say({ kind: "snapshot", sessions: [], views: {} });
  assert.ok(link.snapshot);
});
