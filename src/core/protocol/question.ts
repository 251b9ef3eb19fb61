/**
 * A question to a client or to the person behind it. It is sent in four ways:
 * on the stream of a 2025 request, in the result of a 2026 request, in the
 * record of a task, or on a page of this server. Each way, the answer is
 * matched to the question by the question's fingerprint.
 *
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import { canonicalJson, type JsonObject } from "../json.ts";
import { shortened } from "./messages.ts";

/** A question in the form in which MCP sends it. */
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
   * Makes a question for a page of this server. The page asks a person to open
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

  /** The beginning of the key of a question without a name. */
  get kind(): string {
    return this.origin === undefined ? this.method.split("/")[0] : "page";
  }

  /** The SHA-256 of the question. */
  get fingerprint(): string {
    const { method, params, origin } = this;
    // Without the whole URL, which often changes with every run; the page opens
    // the first.
    const asked = origin === undefined
      ? [method, params]
      : [params.message, origin];
    return fingerprint(canonicalJson(asked));
  }

  /**
   * The start of the message as JSON, or of `params` if there is no message.
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

/** Makes an unused key from a name, with a number if needed, and adds it. */
export function unusedKey(name: string, keys: Set<string>): string {
  let key = name;
  for (let n = 1; keys.has(key); n++) key = `${name}-${n}`;
  keys.add(key);
  return key;
}
