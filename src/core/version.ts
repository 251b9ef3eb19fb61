/** The version of this package, the same as in `deno.json`. */
export const VERSION = "0.2.0";
