/**
 * The approval of one call: its sealed content, and the answer of a person.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../core/json.ts";
import type { ApprovalState } from "../questions/wait_record.ts";
import type { Wait } from "../questions/waits.ts";
import type { Offer } from "./remembered.ts";

/** The sealed content of an approval. */
export interface ApprovalPayload {
  /** The idempotency key of the run, for other services. */
  id: string;
  /** The arguments with which the run begins. */
  input: JsonObject;
  /** The services and names of the accounts that the run acts with. */
  accounts: readonly (readonly [service: string, name: string])[];
  /** The fingerprint of the server's version and the tool's definition. */
  definition?: string;
  title: string;
  facts: Readonly<Record<string, string>>;
  /** The author's offer to remember the approval. */
  offer?: Offer;
  /**
   * The caller's name, and each known email address of the caller, verified or
   * not: no one with such an address may approve.
   */
  caller: { name: string; addresses: readonly string[] };
  /** The last run of the same call, remembered for a day. */
  before?: Pick<ApprovalState, "begunAt" | "outcome">;
}

/** The answer of a person. */
export type Pressed =
  & {
    by: string;
    at: number;
    /** The name of the passkey that signed the press. */
    passkey?: string;
    /** True if the person ticked the box of the author's offer to remember. */
    remembers?: boolean;
    /** True if the person allowed it before, with another press. */
    remembered?: true;
  }
  & ({ action: "accept" } | { action: "decline"; reason: string });

/** An approval as it was read. */
export interface CallApproval extends Omit<Wait, "payload" | "answer"> {
  payload: ApprovalPayload;
  approval: ApprovalState;
  answer?: Pressed & { result?: CallToolResult };
  /** The answer as it is stored, on the approval of a page. */
  sealedAnswer?: string;
}
