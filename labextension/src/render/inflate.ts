/** Inflates data that Python or the build has deflated with zlib. */
export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(inflated).arrayBuffer();
}
