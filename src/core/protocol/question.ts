/**
 * A question to a client or its person. MCP 2025 sends it on the stream of a
 * request, MCP 2026-07-28 in a result. It can also be in the record of a task,
 * or on a page of this server. Answers are matched to it by its fingerprint.
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import { canonicalJson, type JsonObject } from "../json.ts";
import { shortened } from "./messages.ts";

/** A question as MCP sends it. */
export interface InputRequest {
  method: string;
  params: JsonObject;
}

/** The maximum length of a question's text in an error. */
const MAX_TEXT_CHARACTERS = 200;

export class AskedQuestion implements InputRequest {
  /**
   * @param key the author's name for the question; undefined if it has none
   * @param origin for a question on a page of this server: the origin of the
   * URL that the page opens
   */
  constructor(
    readonly method: string,
    readonly params: JsonObject,
    readonly key?: string,
    private readonly origin?: string,
  ) {}

  /**
   * Makes a question on a page of this server. The page asks a person to open
   * the author's URL.
   */
  static onPage(
    { message, url, key }: { message: string; url: string; key?: string },
  ): AskedQuestion {
    return new AskedQuestion(
      "elicitation/create",
      { mode: "url", message, url },
      key,
      new URL(url).origin,
    );
  }

  /** The start of the key of a question that has no name. */
  get kind(): string {
    return this.origin === undefined ? this.method.split("/")[0] : "page";
  }

  get fingerprint(): string {
    const { method, params, origin } = this;
    // Without the whole URL, which often changes with every run. The page opens
    // the URL of the first run.
    const asked = origin === undefined
      ? [method, params]
      : [params.message, origin];
    return fingerprint(canonicalJson(asked));
  }

  /**
   * The start of the question's message, or of `params` if it has no message,
   * as JSON.
   */
  get text(): string {
    const { message = this.params } = this.params;
    return shortened(JSON.stringify(message), MAX_TEXT_CHARACTERS);
  }

  /** Returns the members that are sent to the client. */
  toJSON(): InputRequest {
    const { method, params } = this;
    return { method, params };
  }

  /** True if a person answers the question, false if the client itself does. */
  get isForPerson(): boolean {
    return this.method === "elicitation/create";
  }
}

/** Makes a key from a name, with a number if the name is taken, and adds it. */
export function unusedKey(name: string, keys: Set<string>): string {
  let key = name;
  for (let n = 1; keys.has(key); n++) key = `${name}-${n}`;
  keys.add(key);
  return key;
}
