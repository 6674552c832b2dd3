/** A view as a separate page, as tfnb/notebook/views/widget_page.py makes it: it loads nothing from outside. */

import template from "page-template";

const BYTES = ["_scene", "_record", "_lanes", "_states"];
const PLAIN = [
  "_counters",
  "_curves",
  "_options",
  "_debug",
  "_passes",
  "_table",
  "_look",
  "selected",
];

/** `get` reads the widget's traits; the result is null if its code is not among them. */
export function pageOf(get: (name: string) => unknown, title: string): string | null {
  const module = get("_esm");
  if (typeof module !== "string" || module === "") return null;
  const traits: Record<string, unknown> = {};
  for (const name of BYTES) traits[name] = base64(get(name) as DataView | undefined);
  for (const name of PLAIN) traits[name] = get(name);
  const parts: Record<string, string> = {
    title: title.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`),
    css: String(get("_css")),
    traits: inScript(traits),
    module: inScript(module),
  };
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => parts[name]!);
}

/** JSON that cannot end the script around it. */
function inScript(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

export function base64(view: DataView | undefined): string {
  let text = "";
  const count = view?.byteLength ?? 0;
  for (let i = 0; i < count; i++) text += String.fromCharCode(view!.getUint8(i));
  return btoa(text);
}
