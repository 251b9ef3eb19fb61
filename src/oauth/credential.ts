/**
 * Codes and tokens: opaque, but readable enough to say what they are and to
 * find the grant in the same read as the token.
 *
 * @module
 */
import { randomId } from "../crypto.ts";
import { parsePersonalToken } from "./personal_token.ts";

const PREFIXES = {
  code: "tsc",
  access_token: "tsa",
  refresh_token: "tsr",
} as const;

/** What a credential of a sign-in is good for. */
type MintedKind = keyof typeof PREFIXES;

/** What a credential is good for. */
export type CredentialKind = MintedKind | "personal_token";

const KINDS: Record<string, MintedKind> = {
  tsc: "code",
  tsa: "access_token",
  tsr: "refresh_token",
};

/** A typed prefix, the grant's 16 random bytes, a secret of 32 bytes. */
const CREDENTIAL = /^(ts[car])_([\w-]{22})_[\w-]{43}$/;

/** A new name for a grant: 22 characters. */
export function newGrantId(): string {
  return randomId(16);
}

/** A new unguessable credential of a grant: 256 random bits unless told. */
export function mintCredential(
  kind: MintedKind,
  grantId: string,
  secret = randomId(),
): string {
  return `${PREFIXES[kind]}_${grantId}_${secret}`;
}

/** What a credential says about itself; undefined when it is none of ours. */
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
