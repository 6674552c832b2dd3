/** The text of the built layout worker; build.mjs puts it there. */
declare module "layout-source" {
  const source: string;
  export default source;
}
