/**
 * The forms in which an error may quote a key.
 *
 * @module
 */
import { base64, base64url } from "../../src/core/crypto/crypto.ts";

/** A usual key, and one with every sign that some encoding changes. */
export const KEYS = ["lin_ada_9", `lin_A+b/c="q"\\z~9!*'()%&<x>`];

/** Writes a key in every form, by its name. */
export function formsOf(key: string): Record<string, string> {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const url = encodeURIComponent(key);
  const json = JSON.stringify(key);
  const byCode = (print: (code: string) => string) =>
    key.replace(
      /[^A-Za-z0-9]/g,
      (sign) => print(sign.charCodeAt(0).toString(16).padStart(2, "0")),
    );
  return {
    "as it is": key,
    "encodeURIComponent": url,
    "lower case hexadecimal": byCode((code) => `%${code}`),
    "upper case hexadecimal": byCode((code) => `%${code.toUpperCase()}`),
    "a form": new URLSearchParams([["k", key]]).toString(),
    "encoded twice": encodeURIComponent(url),
    "JSON": json,
    "JSON in JSON": JSON.stringify(json),
    "JSON with codes": byCode((code) => `\\u00${code}`),
    "HTML": byCode((code) => `&#x${code};`),
    "HTML without semicolons": key.replaceAll(
      /[^A-Za-z0-9](?!\d)/g,
      (sign) => `&#${sign.charCodeAt(0)}`,
    ),
    "HTML with names": key.replaceAll("_", "&lowbar;").replaceAll(
      "+",
      "&plus;",
    ),
    "base64": base64(bytes(key)),
    "base64url": base64url(bytes(key)),
    "base64 in an address": encodeURIComponent(base64(bytes(key))),
    "Basic": `Basic ${base64(bytes(`ada:${key}`))}`,
    "Basic with a colon": `Basic ${base64(bytes(`${key}:`))}`,
    "Basic, encoded": `Basic ${base64(bytes(`a%3Ab:${url}`))}`,
    "JSON in base64url": base64url(bytes(JSON.stringify({ sub: 1, key }))),
  };
}
