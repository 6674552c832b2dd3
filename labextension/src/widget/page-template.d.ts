/** The text of page.html; build.mjs puts it there. */
declare module "page-template" {
  const text: string;
  export default text;
}
