/**
 * The approval of one call: its encrypted content, and the answer of a person.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
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

/** An approval, decrypted. */
export interface CallApproval extends Omit<Wait, "payload" | "answer"> {
  payload: ApprovalPayload;
  approval: ApprovalState;
  answer?: Pressed & { result?: CallToolResult };
  /** The stored, encrypted answer; only for the approval's page. */
  sealedAnswer?: string;
}
