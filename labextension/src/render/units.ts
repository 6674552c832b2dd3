/** Numbers with their units, in a readable form. */

/** `512 B`, `4.0 kB`, `1.5 MB`. */
export function bytesText(count: number): string {
  if (count < 1000) return `${Math.round(count)} B`;
  const power = Math.min(4, Math.floor(Math.log10(count) / 3));
  return `${(count / 1000 ** power).toFixed(1)} ${"kMGT"[power - 1]}B`;
}

/** Nanoseconds in a readable form: `850 µs`, `12.4 ms`, `3.20 s`, `2:05 min`. */
export function duration(ns: number): string {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toFixed(0)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toFixed(1)} ms`;
  if (ns < 60e9) return `${(ns / 1e9).toFixed(2)} s`;
  const seconds = Math.floor(ns / 1e9);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
}

/** `1 node`, `2 nodes`. */
export function countText(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}
