/** Shows above a live view that its kernel is gone, or has sent no message for a while. */

import { html, setText } from "../render/dom.ts";

const SILENT_MS = 5000;

export class KernelNews {
  readonly element = html("div", "tfnb-message tfnb-news");
  private last = 0;
  private timer: ReturnType<typeof setInterval> | undefined;

  /** `el`: the element that the front end marks when it has lost the kernel. */
  constructor(private readonly el: HTMLElement) {
    this.element.setAttribute("role", "status");
    this.element.hidden = true;
  }

  /** There was a message; `isRunning`: others must follow it. */
  heard(isRunning: boolean): void {
    this.last = performance.now();
    if (!isRunning) this.stop();
    else this.timer ??= setInterval(() => this.check(), 1000);
    this.check();
  }

  check(): void {
    const silent = this.timer === undefined ? 0 : performance.now() - this.last;
    const isGone = this.el.closest(".jupyter-widgets-disconnected") !== null;
    this.element.hidden = !isGone && silent < SILENT_MS;
    setText(
      this.element,
      isGone
        ? "The kernel of this view is gone; this is its last state."
        : `No message from the kernel for ${Math.round(silent / 1000)} s: it is busy or gone.`,
    );
    if (isGone) this.stop();
  }

  dispose(): void {
    this.stop();
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
