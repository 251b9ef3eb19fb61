/**
 * The questions of a 2026 tool. The protocol has no way to ask while the tool
 * runs. So the request ends with the questions, the client sends it again with
 * the answers, and the tool runs again from its beginning and finds them here.
 *
 * @module
 * @see MCP 2026-07-28, Multi Round-Trip Requests
 */
import { fingerprint } from "../../crypto/crypto.ts";
import { isObject, type JsonObject } from "../../json.ts";
import {
  type Answered,
  canonicalJson,
  type RequestState,
} from "./request_state.ts";

export interface InputRequest {
  method: string;
  params: JsonObject;
}

/** Thrown into a tool to end its run while it waits for an answer. */
export class Suspended extends Error {
  override name = "Suspended";
  constructor() {
    super("The call waits for an answer, and begins again with it");
  }
}

export class Inquiry {
  /** Questions asked in this round that have no answer yet, by key. */
  readonly open = new Map<string, InputRequest>();
  #answered: Map<string, Answered>;
  #reopened: Map<string, number>;
  #count = 0;

  /**
   * @param responses `inputResponses` of this round. Keys that were not asked
   * for are ignored; without a state, any key is accepted.
   */
  constructor(state?: RequestState, responses: JsonObject = {}) {
    this.#answered = new Map(Object.entries(state?.answered ?? {}));
    this.#reopened = new Map(Object.entries(state?.reopened ?? {}));
    const asked = state && new Map(Object.entries(state.asked));
    for (const [key, answer] of Object.entries(responses)) {
      const question = asked ? asked.get(key) : ANY;
      if (question === undefined || !isObject(answer)) continue;
      this.#answered.set(key, [question, answer]);
    }
  }

  /**
   * Gives the answer to a question, or undefined if there is none yet; the
   * question is then open. A question that changed between two rounds is asked
   * again.
   */
  ask(
    method: string,
    params: JsonObject,
    key = `${method.split("/")[0]}-${++this.#count}`,
  ): JsonObject | undefined {
    const [question, answer] = this.#answered.get(key) ?? [];
    if (question === ANY || question === questionOf({ method, params })) {
      return answer;
    }
    this.#answered.delete(key);
    this.open.set(key, { method, params });
    return undefined;
  }

  /**
   * Lets a question be asked again although it has its answer, because what the
   * answer promised has not happened yet; false once that was often enough.
   */
  reopen(key: string): boolean {
    const times = (this.#reopened.get(key) ?? 0) + 1;
    if (times > MOST_REOPENED) return false;
    this.#reopened.set(key, times);
    this.#answered.delete(key);
    return true;
  }

  /** The state that the client must send back with the next round. */
  get state(): Pick<RequestState, "answered" | "asked" | "reopened"> {
    const asked = [...this.open].map(([k, question]) =>
      [k, questionOf(question)] as const
    );
    return {
      answered: Object.fromEntries(this.#answered),
      asked: Object.fromEntries(asked),
      ...this.#reopened.size > 0 &&
        { reopened: Object.fromEntries(this.#reopened) },
    };
  }
}

/**
 * The times that a question is asked again: clients give up after ten rounds
 * (TypeScript SDK 2.4).
 */
const MOST_REOPENED = 6;

/** Means that an answer counts for any question. */
const ANY = "*";

function questionOf(question: InputRequest): string {
  return fingerprint(canonicalJson([question.method, question.params]));
}
