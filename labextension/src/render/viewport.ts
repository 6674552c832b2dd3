/** Pan and zoom: drag moves, Ctrl + wheel (or pinch) zooms, a plain wheel stays the notebook's own scrolling. */

import { Disposables, round, svg } from "./dom.ts";

export const MIN_SCALE = 0.35;
const SMALLEST_SCALE = 0.08;
export const FIT_MARGIN = 14;
const MAX_SCALE = 2.5;
const FIT_MAX_SCALE = 1.15;
const WHEEL_RATE = 0.0022;
const DRAG_START = 4;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Size {
  width: number;
  height: number;
}

export class Viewport {
  readonly svg = svg("svg", { class: "tfnb-canvas" });
  readonly content = svg("g", { class: "tfnb-content" });
  private readonly undo = new Disposables();
  private scale = 1;
  private x = 0;
  private y = 0;
  private size = { width: 600, height: 400 };
  /** What fit() shows: the whole drawing. */
  bounds: Box = { x: 0, y: 0, width: 1, height: 1 };
  private hasMoved = false;
  /** The part of the right side that a card covers; revealed boxes are moved out from under it. */
  coveredRight = 0;
  /** The same, of a card at the bottom. */
  coveredBottom = 0;
  /** Where a drawing that does not fit is shown first; null for the middle of its width. */
  startsAt: number | null = null;
  /** Called on every move. */
  onMove: () => void = () => {};

  /** `onResize` is told whether the whole drawing was visible before. */
  constructor(private readonly onResize: (wasWhole: boolean) => void) {
    this.svg.append(this.content);
    this.undo.listen(this.svg, "wheel", (event) => this.wheel(event), { passive: false });
    this.undo.listen(this.svg, "pointerdown", (event) => this.drag(event));
    const observer = new ResizeObserver(() => this.measure());
    observer.observe(this.svg);
    this.undo.add(() => observer.disconnect());
  }

  dispose(): void {
    this.undo.dispose();
  }

  get currentScale(): number {
    return this.scale;
  }

  /** The canvas's size in CSS pixels. */
  get extent(): Size {
    return this.size;
  }

  /** The visible part of the drawing. */
  get visible(): Box {
    const { x, y, scale, size } = this;
    return {
      x: -x / scale,
      y: -y / scale,
      width: size.width / scale,
      height: size.height / scale,
    };
  }

  /** Moves a point of the drawing to the middle. */
  centre(x: number, y: number): void {
    this.x = this.size.width / 2 - x * this.scale;
    this.y = this.size.height / 2 - y * this.scale;
    this.hasMoved = true;
    this.apply(false);
  }

  /** Whether the user has moved or zoomed: then a resize keeps the place instead of fitting again. */
  get isUsersOwn(): boolean {
    return this.hasMoved;
  }

  /** Whether the whole drawing is visible. */
  private get isWhole(): boolean {
    const { bounds, visible } = this;
    const slack = 1 / this.scale;
    return (
      bounds.x >= visible.x - slack &&
      bounds.y >= visible.y - slack &&
      bounds.x + bounds.width <= visible.x + visible.width + slack &&
      bounds.y + bounds.height <= visible.y + visible.height + slack
    );
  }

  /** Shows a box, or the whole drawing if none is given; below the scale `minScale` only its beginning. */
  fit(box: Box = this.bounds, animate = true, minScale = 0): void {
    const margin = FIT_MARGIN;
    const { width, height } = this.size;
    this.scale = Math.max(fittingScale(box, this.size), minScale);
    const [w, h] = [box.width * this.scale, box.height * this.scale];
    // If it does not fit at the smallest legible scale, show its beginning: the top, and the middle of the width or
    // where it starts.
    let left = (width - w) / 2;
    if (this.startsAt !== null && w > width - 2 * margin) {
      left = width / 2 - (this.startsAt - box.x) * this.scale;
      left = Math.min(margin, Math.max(width - margin - w, left));
    }
    this.x = left - box.x * this.scale;
    this.y = (h > height - 2 * margin ? margin : (height - h) / 2) - box.y * this.scale;
    this.hasMoved = false;
    this.apply(animate);
  }

  /** Zooms around a point of the drawing, or, if that is not visible or none is given, around the middle. */
  zoom(factor: number, about: { x: number; y: number } | null = null): void {
    const { width, height } = this.size;
    const x = about ? about.x * this.scale + this.x : -1;
    const y = about ? about.y * this.scale + this.y : -1;
    const isSeen = x >= 0 && y >= 0 && x <= width && y <= height;
    this.zoomAt(isSeen ? x : width / 2, isSeen ? y : height / 2, factor, true);
  }

  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    this.hasMoved = true;
    this.apply(false);
  }

  /** Moves as little as possible to make a box visible at the scale `least`; zooms out only if it is larger than the view. */
  reveal(box: Box, least = 0): void {
    const margin = 24;
    const width = Math.max(this.size.width - this.coveredRight, 200);
    const height = Math.max(this.size.height - this.coveredBottom, 100);
    const need = Math.min((width - 2 * margin) / box.width, (height - 2 * margin) / box.height);
    if (need < this.scale) this.scale = Math.max(need, Math.min(MIN_SCALE, this.scale));
    else if (this.scale < least) {
      this.scale = Math.min(need, least);
      this.x = width / 2 - (box.x + box.width / 2) * this.scale;
      this.y = height / 2 - (box.y + box.height / 2) * this.scale;
    }
    const left = box.x * this.scale + this.x;
    const top = box.y * this.scale + this.y;
    const right = left + box.width * this.scale;
    const bottom = top + box.height * this.scale;
    if (right > width - margin) this.x -= right - (width - margin);
    if (bottom > height - margin) this.y -= bottom - (height - margin);
    const newLeft = box.x * this.scale + this.x;
    const newTop = box.y * this.scale + this.y;
    if (newLeft < margin) this.x += margin - newLeft;
    if (newTop < margin) this.y += margin - newTop;
    this.hasMoved = true;
    this.apply(true);
  }

  /** Moves the drawing so that the point `after` is where the point `before` was on the screen. */
  hold(before: { x: number; y: number }, after: { x: number; y: number }): void {
    this.x += (before.x - after.x) * this.scale;
    this.y += (before.y - after.y) * this.scale;
    this.apply(true);
  }

  /** Reads the present size of the canvas. */
  measure(): void {
    const { clientWidth, clientHeight } = this.svg;
    if (!clientWidth || !clientHeight) return;
    const isFirst = this.size.width === 600 && this.size.height === 400;
    if (clientWidth === this.size.width && clientHeight === this.size.height && !isFirst) return;
    const wasWhole = !isFirst && this.isWhole;
    this.size = { width: clientWidth, height: clientHeight };
    this.svg.setAttribute("viewBox", `0 0 ${clientWidth} ${clientHeight}`);
    this.onResize(wasWhole);
  }

  private wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const box = this.svg.getBoundingClientRect();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const step = Math.max(-120, Math.min(120, event.deltaY * lines));
    this.zoomAt(
      event.clientX - box.left,
      event.clientY - box.top,
      Math.exp(-step * WHEEL_RATE),
      false,
    );
  }

  private zoomAt(x: number, y: number, factor: number, animate: boolean): void {
    // A drawing that fits only at a smaller scale can be zoomed out to that scale.
    const smallest = Math.min(SMALLEST_SCALE, fittingScale(this.bounds, this.size));
    const scale = Math.min(MAX_SCALE, Math.max(smallest, this.scale * factor));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.hasMoved = true;
    this.apply(animate);
  }

  private drag(event: PointerEvent): void {
    if (event.button !== 0) return;
    const start = { x: event.clientX, y: event.clientY };
    let last = start;
    let isDragging = false;
    const { svg: canvas } = this;
    const move = (now: PointerEvent) => {
      if (!isDragging && Math.hypot(now.clientX - start.x, now.clientY - start.y) < DRAG_START)
        return;
      if (!isDragging) canvas.setPointerCapture(event.pointerId);
      isDragging = true;
      canvas.classList.add("tfnb-dragging");
      this.pan(now.clientX - last.x, now.clientY - last.y);
      last = { x: now.clientX, y: now.clientY };
    };
    const stop = () => {
      canvas.removeEventListener("pointermove", move);
      canvas.removeEventListener("pointerup", stop);
      canvas.removeEventListener("pointercancel", stop);
      canvas.classList.remove("tfnb-dragging");
      // The click that ends a drag selects nothing.
      if (isDragging) {
        canvas.addEventListener("click", swallow, { capture: true, once: true });
        setTimeout(() => canvas.removeEventListener("click", swallow, { capture: true }), 0);
      }
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", stop);
    canvas.addEventListener("pointercancel", stop);
  }

  private apply(animate: boolean): void {
    this.content.classList.toggle("tfnb-glide", animate);
    this.content.style.transform = `translate(${round(this.x)}px, ${round(this.y)}px) scale(${this.scale.toPrecision(5)})`;
    this.svg.dataset["zoom"] = this.scale < 0.55 ? "far" : "near";
    this.onMove();
  }
}

/** The scale at which a whole box is visible. */
export function fittingScale(box: Size, size: Size): number {
  return Math.min(
    (size.width - 2 * FIT_MARGIN) / box.width,
    (size.height - 2 * FIT_MARGIN) / box.height,
    FIT_MAX_SCALE,
  );
}

function swallow(event: Event): void {
  event.stopPropagation();
  event.preventDefault();
}
