/**
 * One kernel in the panel: whether tfnb is loaded there, its messages, and the open views.  The other end
 * is tfnb/notebook/lab/lab_link.py.  The link has its own connection, separate from the notebook's comms; therefore it
 * also serves a console, or a notebook that is not open.
 */

import type { IopubMessage, Kernel } from "./jupyter.ts";
import type { Snapshot } from "./snapshot.ts";
import { type Update, ViewModel } from "./view_model.ts";

const COMM = "tfnb.lab";
/** Interval of watch messages to the kernel; browsers slow hidden pages to once a minute. */
const WATCH_MS = 40_000;
/** Without input for this long the page counts as unwatched; then a server may cull an idle kernel. */
const AWAY_MS = 600_000;

/** Kernel statuses after which the kernel's process is a new one. */
export const ENDS = ["starting", "restarting", "autorestarting", "terminating", "dead"];

/** The widgets' module. */
export interface Renderer {
  render(context: { model: ViewModel; el: HTMLElement }): (() => void) | undefined;
}

interface Message {
  kind: "hello" | "snapshot" | "renderer" | "opened" | "view" | "problem" | "gone";
  id?: string;
  version?: string;
  renderer?: string;
  kernel?: string;
  script?: string;
  style?: string;
  view?: string;
  title?: string;
  content?: Update;
  text?: string;
}

/** A view that the kernel has opened. */
interface Opened {
  name: string;
  title: string;
  model: ViewModel;
  /** The last snapshot from before the view was opened, which does not contain it. */
  openedWith: Snapshot | null;
}

interface Pending {
  done(view: Opened): void;
  failed(error: Error): void;
}

/** One entry per version of the module among this page's kernels. */
const renderers = new Map<string, Promise<Renderer>>();
let lastId = 0;

let lastInput = Date.now();
const links = new Set<KernelLink>();
for (const type of ["pointermove", "pointerdown", "keydown", "wheel"]) {
  const here = () => {
    const wasAway = Date.now() - lastInput > AWAY_MS;
    lastInput = Date.now();
    if (wasAway) for (const link of links) link.renew();
  };
  document.addEventListener(type, here, { capture: true, passive: true });
}

export function newId(): string {
  lastId += 1;
  return `${Date.now().toString(36)}-${lastId}-${Math.random().toString(36).slice(2, 10)}`;
}

export class KernelLink {
  /** Whether tfnb is loaded in the kernel. */
  isHere = false;
  version = "";
  snapshot: Snapshot | null = null;
  /** The last failure that belongs to no view. */
  problem = "";
  private rendererHash = "";
  private instance = "";
  private readonly listeners = new Set<() => void>();
  private readonly pending = new Map<string, Pending>();
  private readonly views = new Map<string, ViewModel>();
  private rendererAsked: ((message: Message) => void)[] = [];
  private readonly timer: number;
  private isLooking = false;

  constructor(
    readonly id: string,
    readonly kernel: Kernel,
    public path: string,
    public name: string,
  ) {
    kernel.iopubMessage.connect(this.onMessage);
    kernel.statusChanged.connect(this.onStatus);
    this.timer = window.setInterval(() => this.renew(), WATCH_MS);
    links.add(this);
    this.look();
  }

  get status(): string {
    return this.kernel.status;
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Tells the kernel that the page is watched, if it is. */
  renew(): void {
    const runs = this.snapshot?.sessions.some((one) => one.running.length > 0);
    if (!runs && Date.now() - lastInput > AWAY_MS) return;
    if (this.isHere) this.ask("watch");
    else this.look();
  }

  dispose(): void {
    links.delete(this);
    window.clearInterval(this.timer);
    this.kernel.iopubMessage.disconnect(this.onMessage);
    this.kernel.statusChanged.disconnect(this.onStatus);
    this.leave();
    this.kernel.dispose();
  }

  /** Sends a request. */
  ask(request: string, words: object = {}): void {
    const message = {
      header: {
        msg_id: newId(),
        msg_type: "comm_msg",
        session: this.kernel.clientId,
        username: this.kernel.username,
        version: "5.2",
        date: new Date().toISOString(),
      },
      parent_header: {},
      metadata: {},
      channel: "shell",
      buffers: [],
      content: { comm_id: COMM, data: { request, ...words } },
    };
    this.kernel.sendShellMessage(message, false, true);
  }

  /** Loads tfnb in the kernel. */
  load(): void {
    this.kernel.requestExecute({ code: "%load_ext tfnb", store_history: false });
  }

  /** Opens a view in the kernel, or finds it open. */
  open(view: string, session: string, signature: number | null, anew: boolean) {
    const id = newId();
    return new Promise<Opened>((done, failed) => {
      this.pending.set(id, { done, failed });
      this.ask("open", { id, view, session, signature, anew });
    });
  }

  close(name: string): void {
    this.views.delete(name);
    if (this.isHere) this.ask("close", { view: name });
  }

  /** The module that draws this kernel's views; it comes from the kernel, so that the versions always match. */
  renderer(): Promise<Renderer> {
    let found = renderers.get(this.rendererHash);
    if (!found) {
      found = new Promise<Message>((done) => {
        this.rendererAsked.push(done);
        this.ask("renderer");
      }).then(importRenderer);
      renderers.set(this.rendererHash, found);
    }
    return found;
  }

  /** Asks whether tfnb is loaded; a busy kernel answers once it is idle. */
  private look(): void {
    if (this.isLooking || this.isHere) return;
    this.isLooking = true;
    this.kernel
      .requestCommInfo({ target_name: COMM })
      .then((reply) => {
        if (COMM in (reply.content.comms ?? {})) this.ask("hello");
      })
      .catch(() => {})
      .finally(() => {
        this.isLooking = false;
      });
  }

  private readonly onStatus = (_: unknown, status: string): void => {
    if (ENDS.includes(status)) this.leave();
    this.tell();
  };

  private readonly onMessage = (_: unknown, message: IopubMessage): void => {
    if (message.header.msg_type !== "comm_msg" || message.content.comm_id !== COMM) return;
    this.hear(message.content.data as Message, message.buffers ?? []);
  };

  private hear(message: Message, buffers: (ArrayBuffer | ArrayBufferView)[]): void {
    if (message.kind === "gone") this.leave();
    else if (message.kind === "hello") this.arrive(message);
    // Opened by another page on this kernel, or by this page before it was reloaded.
    else if (!this.isHere) this.ask("hello");
    if (message.kind === "snapshot") {
      // A kernel that was restarted in a step may still deliver what it has sent before.
      if (this.isHere) this.snapshot = message as unknown as Snapshot;
    } else if (message.kind === "renderer") {
      for (const done of this.rendererAsked.splice(0)) done(message);
    } else if (message.kind === "opened") this.opened(message, buffers);
    else if (message.kind === "view") {
      this.views.get(message.view!)?.apply(message.content!, buffers);
      return;
    } else if (message.kind === "problem") this.failed(message);
    this.tell();
  }

  private arrive(message: Message): void {
    if (this.isHere && message.kernel !== this.instance) this.leave();
    this.instance = message.kernel ?? "";
    this.version = message.version ?? "";
    this.rendererHash = message.renderer ?? "";
    if (!this.isHere) {
      this.isHere = true;
      this.ask("watch");
    }
  }

  /** Handles a kernel that no longer has tfnb loaded. */
  leave(): void {
    if (!this.isHere) return;
    this.isHere = false;
    this.snapshot = null;
    this.views.clear();
    for (const { failed } of this.pending.values()) failed(new Error("The kernel has ended."));
    this.pending.clear();
    this.tell();
  }

  private opened(message: Message, buffers: (ArrayBuffer | ArrayBufferView)[]): void {
    const name = message.view!;
    const asked = this.pending.get(message.id ?? "");
    let model = this.views.get(name);
    if (!model) {
      if (!asked) return;
      model = new ViewModel((content) => this.ask("view", { view: name, content }));
      this.views.set(name, model);
    }
    model.apply(message.content!, buffers);
    this.pending.delete(message.id ?? "");
    asked?.done({ name, title: message.title ?? name, model, openedWith: this.snapshot });
  }

  private failed(message: Message): void {
    const asked = this.pending.get(message.id ?? "");
    this.pending.delete(message.id ?? "");
    if (asked) asked.failed(new Error(message.text));
    else this.problem = message.text ?? "";
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

async function importRenderer(message: Message): Promise<Renderer> {
  const sheet = document.createElement("style");
  sheet.textContent = message.style ?? "";
  document.head.append(sheet);
  const url = URL.createObjectURL(new Blob([message.script ?? ""], { type: "text/javascript" }));
  try {
    return (await import(url)).default;
  } finally {
    URL.revokeObjectURL(url);
  }
}
