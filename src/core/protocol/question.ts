/**
 * A question to a client or to the person behind it. It travels in four ways:
 * on the stream of a 2025 request, in the answer to a 2026 request, in the
 * record of a task, or on a page of this server. In each of them an answer is
 * matched to its question by the question's content.
 *
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import { canonicalJson, type JsonObject } from "../json.ts";
import { shortened } from "./messages.ts";

/** A question on the wire. */
export interface InputRequest {
  method: string;
  params: JsonObject;
}

/** The most characters of a question in an error. */
const MAX_TEXT_CHARACTERS = 200;

export class AskedQuestion implements InputRequest {
  /**
   * @param key the author's name for the question, if there is one
   * @param origin for a question on a page of this server: the origin of the
   * address that the page opens
   */
  constructor(
    readonly method: string,
    readonly params: JsonObject,
    readonly key?: string,
    private readonly origin?: string,
  ) {}

  /**
   * Makes a question that asks a person to open an address of the author's: a
   * page of this server shows it.
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

  /** The beginning of the key of a question that the author did not name. */
  get kind(): string {
    return this.origin === undefined ? this.method.split("/")[0] : "page";
  }

  /** The SHA-256 of what is asked. */
  get fingerprint(): string {
    const { method, params, origin } = this;
    // Without the whole address: it often changes with every run, and the page
    // opens the first.
    const asked = origin === undefined
      ? [method, params]
      : [params.message, origin];
    return fingerprint(canonicalJson(asked));
  }

  /** The beginning of the message, as JSON; without a message, of `params`. */
  get text(): string {
    const { message = this.params } = this.params;
    return shortened(JSON.stringify(message), MAX_TEXT_CHARACTERS);
  }

  /** Returns the members that are sent. */
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
