/** The text of the built lab_plugin.ts, deflated and in base64; build.mjs puts it there. */
declare module "lab-source" {
  const packed: string;
  export default packed;
}
