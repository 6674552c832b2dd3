/** Modules that a script carries in itself, deflated. */

import { inflate } from "./inflate.ts";

/** What a module exports; `packed` is its text, deflated and in base64. */
export async function unpack(packed: string): Promise<unknown> {
  const source = await inflate(Uint8Array.from(atob(packed), (c) => c.charCodeAt(0)));
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}
