/** The version of this package; `deno.json` says the same. */
export const VERSION = "0.2.0";
