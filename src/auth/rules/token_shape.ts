/**
 * The shape of a bearer token, which decides the door that judges it: a token
 * is never tried at several doors.
 *
 * @module
 */
import { fromBase64url } from "../../crypto/crypto.ts";

/** `own`: issued here; `jwt`: a signed JWT; `static`: anything else. */
export type TokenShape = "own" | "jwt" | "static";

/** The prefix of every credential that this server issues. */
const OWN = /^ts[a-z]_/;

/** RFC 7515 §7.1. */
const COMPACT = /^([\w-]+)\.[\w-]+\.[\w-]*$/;

/** Tells the shape of a token; nothing in it is verified. */
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
