/**
 * The approval of one call: its encrypted content, and the answer of a person.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { HttpError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ApprovalState } from "../questions/wait_record.ts";
import type { Wait } from "../questions/waits.ts";
import type { RememberOffer } from "./remembered.ts";

/**
 * The maximum number of runs that an approval begins: each but the last may ask
 * a question, and the next gets the answer. A client can begin as many without
 * answering.
 */
export const MAX_RUNS = 10;

export interface ApprovalPayload {
  /** The idempotency key of the run, for other services. */
  id: string;
  input: JsonObject;
  /** The services and names of the accounts that the run uses. */
  accounts: readonly (readonly [service: string, name: string])[];
  /** The fingerprint of the server's version and the tool's definition. */
  definition: string;
  title: string;
  facts: Readonly<Record<string, string>>;
  offer?: RememberOffer;
  /**
   * The caller's name, which they may have chosen, what their provider vouches
   * for, and their known email addresses, verified or not. If someone else has
   * to approve, no one with one of these addresses may.
   */
  caller: { name: string; account: string; addresses: readonly string[] };
  /** The last run of the same call within a day. */
  before?: Pick<ApprovalState, "begunAt" | "outcome">;
}

/** A person's answer, as the approval stores it. */
export type Pressed =
  & {
    by: string;
    at: number;
    /** The name of the passkey that signed the answer. */
    passkey?: string;
    /**
     * True if the person accepted the author's offer to remember the approval.
     */
    remembers?: boolean;
    /** True if a remembered approval gave the answer. */
    remembered?: true;
  }
  & ({ action: "accept" } | { action: "decline"; reason: string });

/**
 * Another answer of the same person was stored first, which used the same
 * passkey or ticked its box. This one has to be tried again.
 */
export class AnswerConflict extends HttpError {
  constructor() {
    super(503, "Too many answers came at once");
  }
}

/** The maximum number of tries to store an answer. */
const MAX_TRIES = 100;

/**
 * Tries to store an answer until no other answer is faster.
 *
 * @throws {AnswerConflict} after too many tries
 */
export async function untilStored<T>(answer: () => Promise<T>): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await answer();
    } catch (error) {
      if (!(error instanceof AnswerConflict) || tries === MAX_TRIES) {
        throw error;
      }
    }
  }
}

/** An approval, decrypted. */
export interface CallApproval extends Omit<Wait, "payload" | "answer"> {
  payload: ApprovalPayload;
  approval: ApprovalState;
  answer?: Pressed & { result?: CallToolResult };
  /** The stored, encrypted answer; only for the approval's page. */
  sealedAnswer?: string;
}

/** A run that is stored as begun. */
export interface BegunRun {
  /**
   * Puts the approval back, for another run.
   *
   * @param hasRun false if the run was never called
   */
  release(hasRun?: boolean): Promise<boolean>;
}
