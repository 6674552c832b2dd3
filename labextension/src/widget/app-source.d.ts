/** The text of the built index.ts, deflated and in base64; build.mjs puts it there. */
declare module "app-source" {
  const packed: string;
  export default packed;
}
