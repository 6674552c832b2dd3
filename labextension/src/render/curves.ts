/** Curves of scalars that a program summarises while it is watched, one small picture per tag (tfnb/notebook/steps/scalar_curves.py). */

import { html, setText, svg } from "./dom.ts";

export interface CurveState {
  tag: string;
  /** The folder to which it is written, if there are several. */
  run: string;
  count: number;
  unit: "step" | "value";
  last: string;
  x: number[];
  /** null stands for a number that is not finite. */
  y: (number | null)[];
}

export interface CurvesState {
  curves: CurveState[];
  more: number;
}

const WIDTH = 260;
const HEIGHT = 104;
const LEFT = 44;
const RIGHT = 8;
const TOP = 6;
const BOTTOM = 18;

export class CurvesPanel {
  readonly element = html("div", "tfnb-curves");
  private readonly cards = new Map<string, CurveCard>();
  private readonly more = html("div", "tfnb-note");

  constructor() {
    this.element.hidden = true;
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", "Scalars");
  }

  show({ curves, more }: CurvesState): void {
    this.element.hidden = curves.length === 0;
    const shown = new Set<string>();
    for (const curve of curves) {
      const key = JSON.stringify([curve.run, curve.tag]);
      let card = this.cards.get(key);
      if (!card) {
        card = new CurveCard();
        this.cards.set(key, card);
      }
      shown.add(key);
      this.element.append(card.element); // in the order in which they are told
      card.show(curve);
    }
    for (const [key, card] of this.cards) {
      if (shown.has(key)) continue;
      card.element.remove();
      this.cards.delete(key);
    }
    setText(this.more, more ? `${more} more scalars` : "");
    this.element.append(this.more);
    this.more.hidden = more === 0;
  }
}

class CurveCard {
  readonly element = html("div", "tfnb-curve");
  private readonly name = html("span", "tfnb-curve-name");
  private readonly value = html("span", "tfnb-curve-value");
  private readonly picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  private readonly axes = svg("g");
  private readonly line = svg("path", { class: "tfnb-curve-line" });
  private readonly dot = svg("circle", { class: "tfnb-curve-dot", r: 3 });
  private curve: CurveState | null = null;
  private places: { x: number; y: number; at: number }[] = [];

  constructor() {
    const head = html("div", "tfnb-curve-head");
    head.append(this.name, this.value);
    this.picture.append(this.axes, this.line, this.dot);
    this.element.append(head, this.picture);
    this.picture.addEventListener("pointermove", (event) => this.point(event));
    this.picture.addEventListener("pointerleave", () => this.rest());
  }

  show(curve: CurveState): void {
    this.curve = curve;
    const name = curve.run ? `${curve.run}: ${curve.tag}` : curve.tag;
    setText(this.name, name);
    this.name.title = name;
    const { x, y } = curve;
    const finite = y.filter((value) => value !== null);
    const end = x[x.length - 1] ?? 0;
    const where = curve.unit === "step" ? `at step ${end.toLocaleString("en")}` : "";
    this.picture.setAttribute("aria-label", `${name}: ${curve.last} ${where}`.trim());
    const low = Math.min(...finite);
    const high = Math.max(...finite);
    const [from, to] = low < high ? [low, high] : [low - half(low), high + half(high)];
    const across = (value: number) => {
      const share = end > x[0]! ? (value - x[0]!) / (end - x[0]!) : 0.5;
      return LEFT + share * (WIDTH - LEFT - RIGHT);
    };
    const up = (value: number) =>
      HEIGHT - BOTTOM - ((value - from) / (to - from)) * (HEIGHT - TOP - BOTTOM);
    this.places = [];
    let path = "";
    let pen = "M";
    x.forEach((at, i) => {
      const value = y[i] ?? null;
      if (value === null) {
        pen = "M";
        return;
      }
      const place = { x: across(at), y: up(value), at: i };
      this.places.push(place);
      path += `${pen}${place.x.toFixed(1)} ${place.y.toFixed(1)}`;
      pen = "L";
    });
    this.line.setAttribute("d", path);
    this.axes.replaceChildren();
    if (finite.length) this.drawAxes(ticks(from, to, 3), up, x[0]!, end, across, curve.unit);
    this.rest();
  }

  private drawAxes(
    values: number[],
    up: (value: number) => number,
    first: number,
    end: number,
    across: (value: number) => number,
    unit: string,
  ): void {
    for (const value of values) {
      const y = up(value);
      this.axes.append(
        svg("path", { class: "tfnb-curve-grid", d: `M${LEFT} ${y.toFixed(1)}H${WIDTH - RIGHT}` }),
        svg(
          "text",
          { class: "tfnb-curve-tick", x: LEFT - 5, y: y + 3, "text-anchor": "end" },
          shortNumber(value),
        ),
      );
    }
    const inner = ticks(first, end, 3).filter((value) => Number.isInteger(value));
    inner.forEach((value, i) => {
      const text = `${i === 0 && unit === "step" ? "step " : ""}${value.toLocaleString("en")}`;
      const place = across(value);
      // A number at an end of the axis stays within the picture.
      const anchor = place > WIDTH - RIGHT - 20 ? "end" : place < LEFT + 20 ? "start" : "middle";
      this.axes.append(
        svg(
          "text",
          { class: "tfnb-curve-tick", x: place, y: HEIGHT - 5, "text-anchor": anchor },
          text,
        ),
      );
    });
  }

  /** The value at the pointer. */
  private point(event: PointerEvent): void {
    const box = this.picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    const nearest = this.places.reduce<(typeof this.places)[number] | null>(
      (best, one) => (best && Math.abs(best.x - x) <= Math.abs(one.x - x) ? best : one),
      null,
    );
    if (!nearest || !this.curve) return;
    const { unit } = this.curve;
    const at = this.curve.x[nearest.at]!.toLocaleString("en");
    setText(this.value, `${unit} ${at}: ${shortNumber(this.curve.y[nearest.at]!)}`);
    this.mark(nearest);
  }

  /** The last value. */
  private rest(): void {
    setText(this.value, this.curve?.last ?? "");
    this.mark(this.places[this.places.length - 1]);
  }

  private mark(place: { x: number; y: number } | undefined): void {
    this.dot.setAttribute("visibility", place ? "visible" : "hidden");
    this.dot.setAttribute("cx", (place?.x ?? 0).toFixed(1));
    this.dot.setAttribute("cy", (place?.y ?? 0).toFixed(1));
  }
}

function half(value: number): number {
  return Math.abs(value || 1) / 2;
}

/** Round numbers between two, at most `count`; `ticks` of scalar_curves.py returns the same. */
export function ticks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low];
  const power = 10 ** Math.floor(Math.log10((high - low) / count));
  let found: number[] = [];
  for (const factor of [1, 2, 5, 10]) {
    const step = factor * power;
    const first = Math.ceil(low / step - 1e-9);
    const last = Math.floor(high / step + 1e-9);
    found = Array.from({ length: last - first + 1 }, (_, n) =>
      Number(((first + n) * step).toPrecision(10)),
    );
    if (found.length <= count) break;
  }
  return found;
}

/** `0.1235`, `1.2e+6`. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (value !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(1);
  return String(Number(value.toPrecision(4)));
}
