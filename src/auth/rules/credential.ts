/**
 * Codes and tokens: opaque, but with a kind and a grant id in them, so that the
 * grant can be read together with the token.
 *
 * @module
 */
import { fromBase64url, randomId } from "../../crypto/crypto.ts";
import { parsePersonalToken } from "./personal_token.ts";

const PREFIXES = {
  code: "tsc",
  access_token: "tsa",
  refresh_token: "tsr",
} as const;

/** The kind of a credential that a sign-in issues. */
type MintedKind = keyof typeof PREFIXES;

export type CredentialKind = MintedKind | "personal_token";

const KINDS: Record<string, MintedKind> = {
  tsc: "code",
  tsa: "access_token",
  tsr: "refresh_token",
};

/** A prefix for the kind, the grant's 16 random bytes, a secret of 32 bytes. */
const CREDENTIAL = /^(ts[car])_([\w-]{22})_[\w-]{43}$/;

/** Makes an id for a grant: 22 characters. */
export function newGrantId(): string {
  return randomId(16);
}

/** Makes a credential of a grant, by default with 256 random bits. */
export function mintCredential(
  kind: MintedKind,
  grantId: string,
  secret = randomId(),
): string {
  return `${PREFIXES[kind]}_${grantId}_${secret}`;
}

/** Reads the kind and the grant of a credential, if it is one of ours. */
export function parseCredential(
  text: string,
): { kind: CredentialKind; grantId: string } | undefined {
  const personal = parsePersonalToken(text);
  if (personal !== undefined) {
    return { kind: "personal_token", grantId: personal };
  }
  const match = CREDENTIAL.exec(text);
  return match ? { kind: KINDS[match[1]], grantId: match[2] } : undefined;
}

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
