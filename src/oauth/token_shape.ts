/**
 * What a bearer token looks like, which says whose it is: a token is judged by
 * one door and never tried at all of them.
 *
 * @module
 */
import { fromBase64url } from "../crypto.ts";

/** `own`: issued here; `jwt`: signed by someone; `static`: anything else. */
export type TokenShape = "own" | "jwt" | "static";

/** Every credential that this server issues has a prefix of this kind. */
const OWN = /^ts[a-z]_/;

/** RFC 7515 §7.1. */
const COMPACT = /^([\w-]+)\.[\w-]+\.[\w-]*$/;

/** The shape of a token; nothing of it is verified. */
export function tokenShape(token: string): TokenShape {
  if (OWN.test(token)) return "own";
  const header = COMPACT.exec(token)?.[1];
  return header !== undefined && isJoseHeader(header) ? "jwt" : "static";
}

function isJoseHeader(encoded: string): boolean {
  try {
    const header = JSON.parse(
      new TextDecoder().decode(fromBase64url(encoded)),
    );
    return typeof header?.alg === "string";
  } catch {
    return false;
  }
}
