/**
 * `personalKey()`.
 *
 * @module
 */
import { isLoopback } from "../core/net/url.ts";
import type { PersonalKey, PersonalKeyOptions } from "./account.ts";
import * as kinds from "./options.ts";

/**
 * Declares a service whose keys people paste on a page of this server. A tool
 * that names it in `needs` acts there with its caller's own key.
 *
 * @example
 * ```ts
 * import { personalKey, tool, ToolError } from "@tool-server/tool-server";
 *
 * const linear = personalKey("linear", {
 *   api: "https://api.linear.app",
 *   help: "Settings, Security & access, Personal API keys",
 * });
 *
 * tool({
 *   name: "my_issues",
 *   needs: { linear },
 *   async run(_input, { needs }) {
 *     const found = await needs.linear.fetch("/issues");
 *     if (!found.ok) throw new ToolError(`Linear answered ${found.status}.`);
 *     return await found.text();
 *   },
 * });
 * ```
 * @param name the name in URLs: `a` to `z`, digits, `-` and `_`
 */
export function personalKey(
  name: string,
  options: PersonalKeyOptions,
): PersonalKey {
  const call = `personalKey(${JSON.stringify(name)})`;
  const faults = kinds.faultsIn(PERSONAL_KEY, options, `${call}: `);
  if (faults.length > 0) {
    return kinds.withFaults({ kind: "personalKey", name, api: "" }, faults);
  }
  // `_` is allowed too: only in the name of a setting would `_` and `-` be the
  // same, and a personal key has no setting.
  const plain = `${name}`.replaceAll("_", "-");
  faults.push(...faultsOf(call, plain, [options.api], "an API"));
  const { header = "authorization", scheme = "" } = options;
  try {
    // Otherwise every call would fail, with an error that quotes the key.
    new Headers({ [header]: `${scheme} key` });
  } catch {
    faults.push(`${call} must have the name of a header, and a word before it`);
  }
  return kinds.withFaults({ kind: "personalKey", name, ...options }, faults);
}

/** True for a URL to which keys and tokens may be sent. */
export function isAddress(text: string): boolean {
  const url = URL.parse(text);
  // The address has neither userinfo nor query nor fragment.
  return url?.href === `${url?.origin}${url?.pathname}` &&
    (url.protocol === "https:" || url.protocol === "http:" && isLoopback(url));
}

/** Finds an error in a service's name or URLs. */
export function faultsOf(
  call: string,
  name: string,
  addresses: readonly (string | undefined)[],
  wants: string,
): string[] {
  const isRight = /^[a-z0-9][a-z0-9-]{0,39}$/.test(name) &&
    addresses.every((it) => it === undefined || isAddress(it));
  return isRight ? [] : [
    `${call} must have a name of at most 40 letters a to z, digits and -, ` +
    `and the https address of ${wants}`,
  ];
}

/** The options of any service at which people have accounts. */
export const ACCOUNT = { api: kinds.required(kinds.TEXT), title: kinds.TEXT };

/** The options of `personalKey()`. */
export const PERSONAL_KEY = {
  ...ACCOUNT,
  check: kinds.FUNCTION,
  several: kinds.FLAG,
  help: kinds.TEXT,
  shape: kinds.like<RegExp>(
    "a regular expression",
    (it) => it instanceof RegExp,
  ),
  header: kinds.TEXT,
  scheme: kinds.TEXT,
} satisfies kinds.Members<PersonalKeyOptions>;
