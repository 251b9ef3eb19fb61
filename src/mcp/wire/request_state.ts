/**
 * The state that a 2026 client carries for us between two rounds of one
 * request. It passes through hostile hands, so it is sealed, and opens only for
 * the same caller and the same request, and only for a while.
 *
 * @module
 * @see MCP 2026-07-28, Multi Round-Trip Requests, Server Requirements
 */
import { formerBinding } from "../../auth/rules/former_subject.ts";
import { fingerprintOfLong } from "../../crypto/crypto.ts";
import { seal, unseal } from "../../crypto/seal.ts";
import type { RpcError } from "../../errors.ts";
import { invalidParams, shown } from "./messages.ts";
import { isObject, type JsonObject } from "../../json.ts";

/** The time a person has for one round, in seconds. */
export const REQUEST_STATE_SECONDS = 60 * 60;

/** An answer and the fingerprint of its question. */
export type Answered = readonly [question: string, answer: JsonObject];

/** The state left by the rounds so far. */
export interface RequestState {
  /** Answers of earlier rounds, by key. */
  answered: Readonly<Record<string, Answered>>;
  /** Fingerprints of the questions of the last round, by key. */
  asked: Readonly<Record<string, string>>;
  /** The times that a question was asked again, by key; absent: none was. */
  reopened?: Readonly<Record<string, number>>;
  /** A name for this state if it may be used only once. */
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
   * Fingerprints of the caller and of the whole {@linkcode StateBinding}, with
   * a dot between them; version 0.2 wrote the second only.
   */
  boundTo: string;
}

/** Seals a state with a key of 32 bytes. */
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
 * Opens a state. One that was not given to this caller is told as one that no
 * one was given: who holds another's learns not even that it is real.
 *
 * @throws {RpcError} -32602 when it was not sealed with this key, for this
 * caller and request, or has expired
 */
export async function openRequestState(
  key: Uint8Array,
  text: unknown,
  binding: StateBinding,
  now: number,
): Promise<RequestState> {
  if (typeof text !== "string") {
    throw invalid(`must be a string, not ${shown(text)}`);
  }
  const state = await opened(key, text);
  if (!state) throw invalid(UNKNOWN);
  const [caller, request] = state.boundTo.includes(".")
    ? state.boundTo.split(".")
    : [undefined, state.boundTo];
  const former = caller === undefined && formerBinding(binding.caller);
  if (
    request === await bindingOf(binding) ||
    former && request === await bindingOf({ ...binding, caller: former })
  ) {
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

async function opened(
  key: Uint8Array,
  text: string,
): Promise<Sealed | undefined> {
  try {
    return JSON.parse(await unseal(key, text));
  } catch {
    return undefined;
  }
}

/** The members in which the rounds of one request may differ. */
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

/** Prints JSON text that does not depend on the order of members. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_, member) =>
      isObject(member)
        ? Object.fromEntries(
          Object.entries(member).sort(([a], [b]) => a < b ? -1 : 1),
        )
        : member,
  );
}
