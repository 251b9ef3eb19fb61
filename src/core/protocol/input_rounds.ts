/**
 * The questions and answers of an MCP 2026-07-28 request. The protocol has no
 * way to ask while a tool runs. So the request ends with the questions, and the
 * client sends it again with the answers. The tool runs again from its start
 * and finds the answers here. In between, the client keeps the `requestState`.
 * Others may get hold of it, so it is encrypted, and accepted only from the
 * same caller, for the same request, and for a limited time.
 * @module
 * @see MCP 2026-07-28, Multi Round-Trip Requests
 */
import { fingerprintOfLong, seal, unseal } from "../crypto/crypto.ts";
import { canonicalJson, isObject, type JsonObject } from "../json.ts";
import type { RpcError } from "../errors.ts";
import { invalidParams, quoted } from "./messages.ts";
import type { AskedQuestion } from "./question.ts";

/**
 * The reason for which a tool's run is interrupted while it waits for an
 * answer.
 */
export class Suspended extends Error {
  override name = "Suspended";
  constructor() {
    super("The call waits for an answer, and begins again with it");
  }
}

export class InputRounds {
  /** Questions of this round without an answer, keyed by question key. */
  readonly open = new Map<string, AskedQuestion>();
  #answered: Map<string, Answered>;
  #reopened: Map<string, number>;
  #count = 0;

  /**
   * @param responses the `inputResponses` of this round. Keys that were not
   * asked for are ignored; without a state, any key is accepted.
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
   * Returns the answer to a question. If there is none, or the question has
   * changed since the last round, returns undefined and adds the question to
   * `open`.
   */
  ask(question: AskedQuestion): JsonObject | undefined {
    const { key = `${question.kind}-${++this.#count}` } = question;
    const [asked, answer] = this.#answered.get(key) ?? [];
    if (asked === ANY || asked === question.fingerprint) return answer;
    this.#answered.delete(key);
    this.open.set(key, question);
    return undefined;
  }

  /** Returns the answer to the question with a key, which may have changed. */
  find(key: string): JsonObject | undefined {
    return this.#answered.get(key)?.[1];
  }

  /**
   * Drops the answer to a question that must be asked again, because what the
   * person agreed to has not happened yet. Returns false, and keeps the answer,
   * if the question was asked too often.
   */
  reopen(key: string): boolean {
    const times = (this.#reopened.get(key) ?? 0) + 1;
    if (times > MAX_REOPENED) return false;
    this.#reopened.set(key, times);
    this.#answered.delete(key);
    return true;
  }

  get state(): Pick<RequestState, "answered" | "asked" | "reopened"> {
    const asked = [...this.open].map(([k, { fingerprint }]) =>
      [k, fingerprint] as const
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
 * The maximum number of times that a question is repeated. The TypeScript SDK
 * 2.4 gives up after 10.
 */
const MAX_REOPENED = 6;

/**
 * The fingerprint of an answer that came without a state: it fits any question.
 */
const ANY = "*";

/** The time that a person has for one round. */
export const REQUEST_STATE_SECONDS = 60 * 60;

/** An answer and the fingerprint of its question. */
type Answered = readonly [question: string, answer: JsonObject];

/**
 * The questions and answers of the rounds so far, which the client sends back
 * as `requestState`.
 */
export interface RequestState {
  /** Answers of earlier rounds, keyed by question key. */
  answered: Readonly<Record<string, Answered>>;
  /** Fingerprints of the last round's questions, keyed by question key. */
  asked: Readonly<Record<string, string>>;
  /**
   * The number of times that each question was asked again, keyed by question
   * key.
   */
  reopened?: Readonly<Record<string, number>>;
  /** Makes this state unique; set if the state may be used only once. */
  nonce?: string;
  expiresAt: number;
}

/** The caller and the request that a state is bound to. */
export interface StateBinding {
  caller: string;
  method: string;
  params: JsonObject;
}

interface Sealed extends RequestState {
  /**
   * The fingerprints of the caller and of the whole {@linkcode StateBinding},
   * separated by a dot.
   */
  boundTo: string;
}

/** Encrypts a state with a key of 32 bytes. */
export async function sealRequestState(
  key: Uint8Array,
  state: RequestState,
  binding: StateBinding,
): Promise<string> {
  const boundTo = `${await callerOf(binding)}.${await bindingOf(binding)}`;
  const sealed: Sealed = { ...state, boundTo };
  return await seal(key, JSON.stringify(sealed));
}

/**
 * Decrypts a state. The error is the same for a forged state and for another
 * caller's valid one, so that a thief does not learn that it is valid.
 *
 * @throws {RpcError} -32602 if it was not encrypted with this key, for this
 * caller and request, or has expired
 */
export async function openRequestState(
  key: Uint8Array,
  text: unknown,
  binding: StateBinding,
  now: number,
): Promise<RequestState> {
  if (typeof text !== "string") {
    throw invalid(`must be a string, not ${quoted(text)}`);
  }
  const state: Sealed | undefined = await unseal(key, text)
    .then(JSON.parse, () => undefined);
  if (!state) throw invalid(UNKNOWN);
  const [caller, request] = state.boundTo.split(".");
  if (request === await bindingOf(binding)) {
    if (state.expiresAt > now) return state;
    throw invalid("has expired: a person has an hour for an answer");
  }
  throw invalid(
    caller === await callerOf(binding)
      ? "belongs to another request: send the method, the name and the arguments that it was made for"
      : UNKNOWN,
  );
}

const UNKNOWN =
  "is not as this server gave it to this caller: it was changed, or is someone else's";

function invalid(why: string): RpcError {
  return invalidParams(
    `requestState ${why}. Send the request without it to begin again`,
  );
}

/** The members that may differ between the rounds of one request. */
const CHANGING = ["_meta", "inputResponses", "requestState"];

function callerOf({ caller }: StateBinding): Promise<string> {
  return fingerprintOfLong(canonicalJson([caller]));
}

function bindingOf({ caller, method, params }: StateBinding): Promise<string> {
  const same = Object.entries(params).filter(([k]) => !CHANGING.includes(k));
  return fingerprintOfLong(
    canonicalJson([caller, method, Object.fromEntries(same)]),
  );
}
