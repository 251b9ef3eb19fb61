/**
 * Authorization codes and tokens of this server. They are opaque to clients,
 * but contain their kind and grant ID, so that the grant can be read at the
 * same time as the token.
 *
 * @module
 */
import {
  base64url,
  fromBase64url,
  isSameSecret,
  randomId,
} from "../crypto/crypto.ts";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";

const PREFIXES = {
  code: "tsc",
  access_token: "tsa",
  refresh_token: "tsr",
} as const;

type MintedKind = keyof typeof PREFIXES;

export type CredentialKind = MintedKind | "personal_token";

/**
 * Matches a prefix for the kind, the grant ID of 16 random bytes and a secret
 * of 32 bytes.
 */
const CREDENTIAL = /^(ts[car])_([\w-]{22})_[\w-]{43}$/;

export function newGrantId(): string {
  return randomId(16);
}

/** Makes a code or token of a grant. The default secret has 256 random bits. */
export function mintCredential(
  kind: MintedKind,
  grantId: string,
  secret = randomId(),
): string {
  return `${PREFIXES[kind]}_${grantId}_${secret}`;
}

/**
 * Returns the kind and the grant ID of a code or token; undefined for other
 * texts.
 */
export function parseCredential(
  text: string,
): { kind: CredentialKind; grantId: string } | undefined {
  const personal = parsePersonalToken(text);
  if (personal !== undefined) {
    return { kind: "personal_token", grantId: personal };
  }
  const [, prefix, grantId] = CREDENTIAL.exec(text) ?? [];
  const kinds = Object.keys(PREFIXES) as MintedKind[];
  const kind = kinds.find((kind) => PREFIXES[kind] === prefix);
  return kind && { kind, grantId };
}

/**
 * `own`: issued by this server; `jwt`: a signed JWT; `static`: anything else.
 */
export type TokenShape = "own" | "jwt" | "static";

const OWN = /^ts[a-z]_/;

/** Matches the compact serialization of a JWS (RFC 7515 §7.1). */
const COMPACT = /^([\w-]+)\.[\w-]+\.[\w-]*$/;

/** Returns the shape of a token, without verifying it. */
export function tokenShape(token: string): TokenShape {
  if (OWN.test(token)) return "own";
  const header = COMPACT.exec(token)?.[1];
  return header !== undefined && isJoseHeader(header) ? "jwt" : "static";
}

function isJoseHeader(encoded: string): boolean {
  try {
    const header = JSON.parse(new TextDecoder().decode(fromBase64url(encoded)));
    return typeof header?.alg === "string";
  } catch {
    return false;
  }
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Matches a personal access token, which a person makes for a program: a
 * prefix, the grant ID, a secret and a checksum. People paste it into files, so
 * secret scanners must recognize a leaked one.
 *
 * @see
 * https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
 */
const PERSONAL_TOKEN =
  /^(tsp_([0-9A-Za-z]{22})[0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

/** Makes the grant ID of a personal access token: 131 random bits. */
export function newPersonalGrantId(): string {
  return randomDigits(22);
}

/** Makes a personal access token: the grant ID and 178 random bits. */
export function mintPersonalToken(grantId: string): string {
  const body = `tsp_${grantId}${randomDigits(30)}`;
  return body + checksum(body);
}

/**
 * Returns the grant ID of a personal access token; undefined for other texts.
 */
export function parsePersonalToken(text: string): string | undefined {
  const [, body, grantId, sum] = PERSONAL_TOKEN.exec(text) ?? [];
  return body !== undefined && checksum(body) === sum ? grantId : undefined;
}

function randomDigits(count: number): string {
  let digits = "";
  while (digits.length < count) {
    const [byte] = crypto.getRandomValues(new Uint8Array(1));
    // 248 is 4 × 62: with higher bytes, some digits would be more likely.
    if (byte < 248) digits += DIGITS[byte % 62];
  }
  return digits;
}

/** Computes the CRC-32 of ASCII, as in zip, in six digits of base 62. */
function checksum(text: string): string {
  let crc = 0xFFFFFFFF;
  for (let index = 0; index < text.length; index++) {
    crc ^= text.charCodeAt(index);
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 1 ? crc >>> 1 ^ 0xEDB88320 : crc >>> 1;
    }
  }
  let rest = ~crc >>> 0;
  let digits = "";
  for (let place = 0; place < 6; place++) {
    digits = DIGITS[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** RFC 6749 §10.10 recommends 160 bits that cannot be guessed. */
const RANDOM_BYTES = 20;
/**
 * RFC 2104 §5 recommends at least 80 bits. With 96, a refresh token is as long
 * as an access token.
 */
const TAG_BYTES = 12;
const SECRET_CHARACTERS = 43;

/** Makes the key with which a grant's refresh tokens are authenticated. */
export function newRefreshKey(): string {
  return randomId(16);
}

/**
 * Makes a refresh token with an HMAC tag, which proves that this server made
 * it. So used refresh tokens need not be stored: one with a valid tag that is
 * not current must have been used.
 */
export function mintRefreshToken(grantId: string, refreshKey: string): string {
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_BYTES));
  const secret = taggedSecret(random, refreshKey);
  return mintCredential("refresh_token", grantId, secret);
}

/** True if a refresh token has a valid tag; false if the grant has no key. */
export function isTagged(refreshToken: string, refreshKey?: string): boolean {
  if (refreshKey === undefined) return false;
  const secret = refreshToken.slice(-SECRET_CHARACTERS);
  const random = fromBase64url(secret).subarray(0, RANDOM_BYTES);
  // Compared as text, because base64url can write the same bytes
  // differently.
  return isSameSecret(secret, taggedSecret(random, refreshKey));
}

function taggedSecret(random: Uint8Array, refreshKey: string): string {
  const tag = hmac(sha256, fromBase64url(refreshKey), random);
  return base64url(Uint8Array.of(...random, ...tag.subarray(0, TAG_BYTES)));
}
