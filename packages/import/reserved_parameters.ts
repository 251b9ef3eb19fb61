/**
 * The parameters of an operation that are no arguments of its tool: keys, and
 * what only this server may say of its requests.
 *
 * @module
 */
import { METHOD_OVERRIDE } from "../../src/authoring/parameter_style.ts";
import type { JsonObject } from "../../src/core/json.ts";
import {
  type ApiDocument,
  attempt,
  ImportError,
  resolveReference,
  shortLine,
} from "./document.ts";

/**
 * Matches headers that the request has anyway: those that are never parameters
 * (OpenAPI, Parameter Object), that frame it, or that concern one connection.
 */
const SENT_ANYWAY =
  /^(?:accept|authorization|content-type|connection|content-length|expect|host|http2-settings|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

/**
 * Matches headers by which services tell who sends a request, from which page,
 * or to which address.
 */
const OF_THE_SENDER =
  /^(?:cookie|forwarded|origin|referer|via|sec-.*|x-forwarded-.*|x-(?:original|rewrite|override)-(?:host|url|uri|path|method)|x-(?:http-)?host(?:-override)?|(?:true-|fastly-|x-(?:cluster-)?)?client-ip|cf-connecting-ip|x-(?:real|remote)-(?:ip|addr)|(?:x-)?remote-user)$/i;

/** Matches names of parameters that are keys where people sign in. */
const KEY = /^(?:x-)?(?:access|api|auth|oauth)[-_]?(?:key|token)$/i;

/** Matches names of parameters that are keys if their description says so. */
const MAYBE_KEY = /^(?:key|token)$/i;
const KEY_WORDS = /\bauthenti|\bAPI key\b|\bscopes?\b/i;

/** Matches the type of a scheme that sends an access token, or its header. */
const SENDS_TOKEN = /^(?:authorization|bearer|oauth2|openIdConnect)$/i;

/** The parameters of a document's operations that are reserved. */
export class ReservedParameters {
  readonly #root: JsonObject;
  /** For each location and name of a key, the names of its schemes. */
  readonly #keys = new Map<string, string[]>();
  /** The names of the schemes that send an access token. */
  readonly #tokens = new Set<string>();

  constructor(document: ApiDocument) {
    this.#root = document.root;
    const { securitySchemes } = Object(document.root.components);
    for (const [scheme, entry] of Object.entries(Object(securitySchemes))) {
      const given = attempt(() => resolveReference(document, entry));
      const { type, in: place, name, scheme: kind } = Object(given);
      const sends = `${type === "apiKey" ? name : kind ?? type}`;
      if (SENDS_TOKEN.test(sends)) this.#tokens.add(scheme);
      if (type !== "apiKey") continue;
      this.#add(`${place} ${name}`, scheme);
      if (place === "cookie") this.#add("header cookie", scheme);
    }
  }

  #add(parameter: string, scheme: string): void {
    const name = parameter.toLowerCase();
    this.#keys.set(name, [...this.#keys.get(name) ?? [], scheme]);
  }

  /** Lists the names of the schemes that an operation takes. */
  #takenBy({ security }: JsonObject): string[] {
    const sets = [security ?? this.#root.security ?? []].flat();
    return sets.flatMap((it) => Object.keys(Object(it)));
  }

  /**
   * Makes the note that an operation's parameter is left out. Undefined if the
   * parameter is not reserved.
   *
   * @throws {ImportError} if the operation needs the parameter, and its requests
   * lack it
   */
  noteOn(operation: JsonObject, parameter: JsonObject): string | undefined {
    const { in: place, description, required } = parameter;
    const name = `${parameter.name}`;
    if (place === "path") return undefined;
    const isHeader = place === "header";
    const isSent = isHeader && SENT_ANYWAY.test(name);
    const schemes = this.#keys.get(`${place} ${name}`.toLowerCase());
    const isNamed = KEY.test(name) ||
      MAYBE_KEY.test(name) && KEY_WORDS.test(`${description}`);
    const taken = schemes || isNamed ? this.#takenBy(operation) : [];
    const isKey = !isSent && (schemes !== undefined || taken.length > 0);
    const isOther = isHeader && OF_THE_SENDER.test(name) ||
      METHOD_OVERRIDE.test(name);
    if (!isSent && !isKey && !isOther) return undefined;
    const what = `the ${isHeader ? "header" : "parameter"} ${shortLine(name)}`;
    const why = isKey ? "is a key" : "is not the model's";
    // A parameter `…token` without a scheme is the token in `Authorization`.
    const isTold = schemes === undefined
      ? /token$/i.test(name) && taken.some((it) => this.#tokens.has(it))
      : schemes.some((it) => taken.includes(it));
    const isGiven = isSent || isKey && isTold;
    if (required !== true || isGiven) return `leaves out ${what}, which ${why}`;
    const advice = isKey ? ": name its scheme in the security there" : "";
    throw new ImportError(`It needs ${what}, which ${why}${advice}.`);
  }
}
