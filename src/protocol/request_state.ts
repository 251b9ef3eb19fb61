/**
 * The state that a 2026 client carries for us between two rounds of one
 * request. It passes through hostile hands, so it is sealed, and opens only for
 * the same caller and the same request, and only for a while.
 *
 * @module
 * @see MCP 2026-07-28, Multi Round-Trip Requests, Server Requirements
 */
import { fingerprintOfLong } from "../crypto.ts";
import { seal, unseal } from "../seal.ts";
import { invalidParams } from "./messages.ts";
import { isObject, type JsonObject } from "../json.ts";

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
  /** A name for this state if it may be used only once. */
  nonce?: string;
  expiresAt: number;
}

/** The caller and the request that a state is bound to. */
export interface StateBinding {
  caller: string;
  /** The caller's name in version 0.1. */
  formerCaller?: string;
  method: string;
  params: JsonObject;
}

interface Sealed extends RequestState {
  /** Fingerprint of the {@linkcode StateBinding}. */
  boundTo: string;
}

/** Seals a state with a key of 32 bytes. */
export async function sealRequestState(
  key: Uint8Array,
  state: RequestState,
  binding: StateBinding,
): Promise<string> {
  const sealed: Sealed = { ...state, boundTo: await bindingOf(binding) };
  return await seal(key, JSON.stringify(sealed));
}

/**
 * Opens a state.
 *
 * @throws {import("../errors.ts").RpcError} -32602 when it was not sealed with
 * this key, for this caller and request, or has expired
 */
export async function openRequestState(
  key: Uint8Array,
  text: unknown,
  binding: StateBinding,
  now: number,
): Promise<RequestState> {
  const state = await opened(key, text);
  const isValid = state !== undefined && state.expiresAt > now &&
    await isBoundTo(state, binding);
  if (isValid) return state;
  throw invalidParams("requestState is not valid for this request");
}

async function isBoundTo(
  { boundTo }: Sealed,
  { formerCaller, ...binding }: StateBinding,
): Promise<boolean> {
  return boundTo === await bindingOf(binding) ||
    formerCaller !== undefined &&
      boundTo === await bindingOf({ ...binding, caller: formerCaller });
}

async function opened(
  key: Uint8Array,
  text: unknown,
): Promise<Sealed | undefined> {
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(await unseal(key, text));
  } catch {
    return undefined;
  }
}

/** The members in which the rounds of one request may differ. */
const CHANGING = ["_meta", "inputResponses", "requestState"];

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
