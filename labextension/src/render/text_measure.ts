/** Widths of short texts, measured once each; texts too long are cut in the middle, where names differ least. */

import { shown } from "./dom.ts";

const FONTS = {
  label: "500 11px",
  scope: "600 12px",
  small: "10px",
} as const;
export type FontUse = keyof typeof FONTS;

const FALLBACK_FAMILY = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";
const widths = new Map<string, number>();
let context: CanvasRenderingContext2D | null | undefined;
let family = FALLBACK_FAMILY;

/** Takes the page's font for measuring; called when a view is attached. */
export function useFontOf(element: HTMLElement): void {
  const found = getComputedStyle(element).fontFamily;
  if (found && found !== family) {
    family = found;
    widths.clear();
  }
}

export function textWidth(text: string, use: FontUse): number {
  const key = `${use}:${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    context ??= document.createElement("canvas").getContext("2d");
    if (context) {
      context.font = `${FONTS[use]} ${family}`;
      width = context.measureText(shown(text)).width;
    } else {
      width = text.length * 6.2;
    }
    widths.set(key, width);
  }
  return width;
}

export function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const head = Math.ceil((limit - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (limit - 1 - head))}`;
}
