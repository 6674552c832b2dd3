/** Outlines of boxes around the origin, one per kind of op, so that kinds differ in shape and not in colour alone. */

import type { Point } from "../layout/layout_worker.ts";
import { round } from "./dom.ts";

export function outline(kind: string, width: number, height: number): string {
  const w = width / 2;
  const h = height / 2;
  switch (kind) {
    case "scope":
      return rounded(w, h, 7);
    case "math":
      return rounded(w, h, Math.min(h, 14));
    case "constant":
      return rounded(w, h, h);
    case "input":
      return polygon([
        [-w + 7, -h],
        [w, -h],
        [w - 7, h],
        [-w, h],
      ]);
    case "state":
      return cylinder(w, h);
    case "control":
      return polygon([
        [-w + 8, -h],
        [w - 8, -h],
        [w, 0],
        [w - 8, h],
        [-w + 8, h],
        [-w, 0],
      ]);
    case "transfer":
      return polygon([
        [-w, -h],
        [w - 8, -h],
        [w, 0],
        [w - 8, h],
        [-w, h],
        [-w + 7, 0],
      ]);
    case "array":
      return rounded(w, h, 2);
    default:
      return rounded(w, h, 5);
  }
}

function rounded(w: number, h: number, radius: number): string {
  const r = Math.min(radius, w, h);
  const [W, H, R] = [round(w), round(h), round(r)];
  const [x, y] = [round(w - r), round(h - r)];
  return `M-${x} -${H}H${x}A${R} ${R} 0 0 1 ${W} -${y}V${y}A${R} ${R} 0 0 1 ${x} ${H}H-${x}A${R} ${R} 0 0 1 -${W} ${y}V-${y}A${R} ${R} 0 0 1 -${x} -${H}Z`;
}

function polygon(corners: [number, number][]): string {
  return `M${corners.map(([x, y]) => `${round(x)} ${round(y)}`).join("L")}Z`;
}

function cylinder(w: number, h: number): string {
  const [W, e] = [round(w), 3.5];
  const [top, bottom] = [round(-h + e), round(h - e)];
  return `M-${W} ${top}A${W} ${e} 0 0 1 ${W} ${top}V${bottom}A${W} ${e} 0 0 1 -${W} ${bottom}ZM-${W} ${top}A${W} ${e} 0 0 0 ${W} ${top}`;
}

/** A smooth line through dagre's points: a uniform cubic B-spline that starts and ends on the line's ends. */
export function spline(points: Point[]): string {
  const at = (p: Point) => `${round(p.x)} ${round(p.y)}`;
  const first = points[0]!;
  const last = points[points.length - 1]!;
  if (points.length < 3) return `M${at(first)}L${at(last)}`;
  let path = `M${at(first)}`;
  const padded = [first, first, ...points.slice(1, -1), last, last];
  for (let i = 1; i + 2 < padded.length; i++) {
    const [a, b, c] = [padded[i]!, padded[i + 1]!, padded[i + 2]!];
    const mix = (p: Point, q: Point, t: number): Point => ({
      x: p.x + (q.x - p.x) * t,
      y: p.y + (q.y - p.y) * t,
    });
    const end = { x: (a.x + 4 * b.x + c.x) / 6, y: (a.y + 4 * b.y + c.y) / 6 };
    path += `C${at(mix(a, b, 1 / 3))} ${at(mix(a, b, 2 / 3))} ${at(end)}`;
  }
  return `${path}L${at(last)}`;
}
