/** Undoes zlib's deflate, which Python and the build use for what travels. */
export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(inflated).arrayBuffer();
}
