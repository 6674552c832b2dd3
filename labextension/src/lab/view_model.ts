/** The model of one view, with the interface that anywidget gives the widgets' module; it lives in the kernel. */

/** A message of ipywidgets' protocol. */
export interface Update {
  method: string;
  state?: Record<string, unknown>;
  buffer_paths?: string[][];
  content?: unknown;
}

export class ViewModel {
  private readonly state: Record<string, unknown> = {};
  private readonly changed = new Set<string>();
  private readonly handlers = new Map<string, Set<(value?: unknown) => void>>();

  constructor(private readonly tell: (content: Update) => void) {}

  get(name: string): unknown {
    return this.state[name];
  }

  set(name: string, value: unknown): void {
    this.state[name] = value;
    this.changed.add(name);
    this.fire(`change:${name}`);
  }

  save_changes(): void {
    const names = [...this.changed];
    this.changed.clear();
    const state = Object.fromEntries(names.map((name) => [name, this.state[name]]));
    if (names.length > 0) this.tell({ method: "update", state });
  }

  send(content: unknown): void {
    this.tell({ method: "custom", content });
  }

  on(event: string, handler: (value?: unknown) => void): void {
    const found = this.handlers.get(event) ?? new Set();
    this.handlers.set(event, found.add(handler));
  }

  off(event: string, handler: (value?: unknown) => void): void {
    this.handlers.get(event)?.delete(handler);
  }

  /** Handles a message of the kernel. */
  apply(update: Update, buffers: (ArrayBuffer | ArrayBufferView)[]): void {
    if (update.method === "custom") {
      for (const handler of this.handlers.get("msg:custom") ?? []) handler(update.content);
    }
    if (update.method !== "update") return;
    const state = { ...update.state };
    (update.buffer_paths ?? []).forEach(([name], i) => {
      const given = buffers[i]!;
      state[name!] = ArrayBuffer.isView(given)
        ? new DataView(given.buffer, given.byteOffset, given.byteLength)
        : new DataView(given);
    });
    // Set all values of a message before listeners are called.
    Object.assign(this.state, state);
    for (const name of Object.keys(state)) this.fire(`change:${name}`);
  }

  private fire(event: string): void {
    for (const handler of [...(this.handlers.get(event) ?? [])]) handler();
  }
}
