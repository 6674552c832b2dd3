/** The text of style/lab.css, minified; build.mjs puts it there. */
declare module "lab-style" {
  const text: string;
  export default text;
}
