/** The text of the built layout worker, deflated and in base64; build.mjs puts it there. */
declare module "layout-source" {
  const source: string;
  export default source;
}
