/**
 * The drawing as a file: SVG with its styles inlined, a PNG made from it, or a separate page that works without
 * a kernel.  Names are text nodes of the copied drawing, which the serializer escapes.
 */

import type { Box } from "./viewport.ts";

export type PictureForm = "svg" | "png" | "html";

const MARGIN = 12;
const LOOKS = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "text-decoration-line",
  "paint-order",
];
/** Maximum side of a canvas in browsers. */
const MOST_PIXELS = 8000;
// Characters that XML does not allow, escaped or not.
const IMPOSSIBLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** The whole drawing, independent of the visible part and its scale. */
export function svgText(canvas: SVGSVGElement, bounds: Box, title: string): string {
  const { zoom } = canvas.dataset;
  // Small texts are hidden at small scales (tfnb.css), but shown in a file.
  canvas.dataset["zoom"] = "near";
  try {
    finishAnimations(canvas);
    return drawingText(canvas, bounds, title);
  } finally {
    if (zoom === undefined) delete canvas.dataset["zoom"];
    else canvas.dataset["zoom"] = zoom;
  }
}

/** Finishes all animations, so that no intermediate state is copied. */
function finishAnimations(canvas: SVGSVGElement): void {
  for (const animation of canvas.getAnimations({ subtree: true })) {
    if (animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) {
      animation.finish();
    }
  }
}

function drawingText(canvas: SVGSVGElement, bounds: Box, title: string): string {
  const copy = canvas.cloneNode(true) as SVGSVGElement;
  const originals = [canvas, ...canvas.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  originals.forEach((original, i) => {
    const made = copies[i]!;
    const style = getComputedStyle(original);
    if (style.display === "none") made.setAttribute("data-gone", "");
    const isDrawn = !["g", "title", "defs", "marker", "pattern"].includes(original.tagName);
    for (const name of isDrawn ? LOOKS : original.tagName === "g" ? ["opacity"] : []) {
      made.setAttribute(name, style.getPropertyValue(name));
    }
    const moved = /translate\(([-\d.]+)px, ([-\d.]+)px\)/.exec(
      (original as SVGElement).style.transform,
    );
    made.removeAttribute("style");
    if (moved) made.setAttribute("transform", `translate(${moved[1]} ${moved[2]})`);
    for (const name of ["class", "role", "tabindex", "aria-hidden"]) made.removeAttribute(name);
  });
  for (const gone of copy.querySelectorAll("[data-gone]")) gone.remove();
  copy.querySelector("defs ~ g")?.removeAttribute("transform");
  const { width, height } = bounds;
  const box = [-MARGIN, -MARGIN, width + 2 * MARGIN, height + 2 * MARGIN].map(Math.round);
  const paper = document.createElementNS(copy.namespaceURI!, "rect");
  const names = ["x", "y", "width", "height"];
  names.forEach((name, i) => {
    paper.setAttribute(name, String(box[i]));
  });
  paper.setAttribute("fill", getComputedStyle(canvas.closest(".tfnb")!).backgroundColor);
  copy.prepend(paper);
  const heading = document.createElementNS(copy.namespaceURI!, "title");
  heading.textContent = title;
  copy.prepend(heading);
  for (const { name } of [...copy.attributes]) copy.removeAttribute(name);
  copy.setAttribute("viewBox", box.join(" "));
  copy.setAttribute("width", String(box[2]));
  copy.setAttribute("height", String(box[3]));
  return new XMLSerializer().serializeToString(copy).replace(IMPOSSIBLE, "\ufffd");
}

/** An SVG in pixels, at twice its size if possible. */
export async function pngOf(text: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const scale = Math.min(2, MOST_PIXELS / image.width, MOST_PIXELS / image.height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(image.width * scale);
  canvas.height = Math.round(image.height * scale);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => {
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("The picture is too large."))));
  });
}

/** Hands a file to the user. */
export function offer(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
