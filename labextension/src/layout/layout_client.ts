/**
 * Requests layouts: from a Web Worker made from the text of layout_worker.ts, else from the same text imported on the
 * main thread (where a page's policy forbids workers).
 */

import type { LayoutRequest, LayoutResult } from "./layout_worker.ts";

export type Layouter = (request: LayoutRequest) => Promise<LayoutResult>;

interface Waiting {
  resolve: (result: LayoutResult) => void;
  reject: (error: Error) => void;
  request: LayoutRequest;
}

const START_LIMIT_MS = 4000;

export class LayoutClient {
  private readonly url: string;
  private worker: Worker | null = null;
  private ticket = 0;
  private hasAnswered = false;
  private readonly waiting = new Map<number, Waiting>();
  private fallback: Promise<(request: LayoutRequest) => LayoutResult> | null = null;

  /** `source` is the worker's text. */
  constructor(source: string) {
    this.url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    try {
      this.worker = new Worker(this.url, { type: "module" });
      this.worker.onmessage = ({ data }) => this.answer(data);
      this.worker.onerror = () => this.giveUpWorker();
    } catch {
      this.worker = null;
    }
  }

  /** True while layouts are made off the main thread. */
  get usesWorker(): boolean {
    return this.worker !== null;
  }

  readonly layout: Layouter = async (request) => {
    const { worker } = this;
    if (worker === null) return this.onMainThread(request);
    return new Promise((resolve, reject) => {
      const ticket = this.ticket++;
      this.waiting.set(ticket, { resolve, reject, request });
      worker.postMessage({ ticket, request });
      // A worker blocked by a policy may stay silent instead of reporting an error.
      if (!this.hasAnswered) {
        setTimeout(() => {
          if (!this.hasAnswered && this.worker === worker) this.giveUpWorker();
        }, START_LIMIT_MS);
      }
    });
  };

  dispose(): void {
    this.worker?.terminate();
    this.worker = null;
    this.waiting.clear();
    URL.revokeObjectURL(this.url);
  }

  private answer(data: { ticket: number; result?: LayoutResult; error?: string }): void {
    this.hasAnswered = true;
    const waiting = this.waiting.get(data.ticket);
    if (waiting === undefined) return;
    this.waiting.delete(data.ticket);
    if (data.result) waiting.resolve(data.result);
    else waiting.reject(new Error(data.error ?? "The layout failed."));
  }

  private giveUpWorker(): void {
    this.worker?.terminate();
    this.worker = null;
    const unanswered = [...this.waiting.values()];
    this.waiting.clear();
    for (const { request, resolve, reject } of unanswered) {
      this.onMainThread(request).then(resolve, reject);
    }
  }

  private async onMainThread(request: LayoutRequest): Promise<LayoutResult> {
    this.fallback ??= import(this.url).then(
      (module: { layout: (request: LayoutRequest) => LayoutResult }) => module.layout,
    );
    return (await this.fallback)(request);
  }
}
