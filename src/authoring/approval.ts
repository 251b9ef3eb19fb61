/**
 * Approvals: a call of a tool begins only once a signed-in person has pressed a
 * button on a page of the server, for exactly these arguments.
 *
 * @module
 */
import * as kinds from "./options.ts";
import { SCOPE } from "./scope.ts";
import type { MaybePromise } from "./service.ts";

export const MAX_APPROVAL_SECONDS = 7 * 24 * 60 * 60;

/** The seconds for which a call without `expiresIn` waits for its approval. */
export const APPROVAL_SECONDS = 15 * 60;

/** The approval of the call that is running. */
export interface Approved {
  /**
   * The ID of this approval, the same if the call runs again: give it to a
   * payment API as its idempotency key.
   */
  readonly id: string;
  /** The subject of the person who approved. */
  readonly by: string;
  /** The time of the approval, in epoch seconds. */
  readonly at: number;
  /** True if no one was asked about this call, because of `remember`. */
  readonly remembered?: true;
}

/** An offer to run similar calls without asking for a while. */
export interface ApprovalOffer {
  /** The same for all calls that the offer covers. */
  key: string;
  /** A description of the calls: `refunds to c1`. */
  label: string;
  /** The seconds for which the offer is valid, 60 to 86,400. */
  seconds: number;
}

/** The plain texts of an approval on its page. */
export interface ApprovalShown {
  /** The action, to follow "wants to": `Refund €49.00`. */
  title: string;
  /** The facts that matter, by their names. */
  facts?: Readonly<Record<string, string | number>>;
}

/** The people who may approve other people's calls: all who hold a scope. */
export interface ApprovalScope {
  /** The scope that the approver must hold. */
  scope: string;
}

/** The approval that a tool asks for before it runs. */
// deno-lint-ignore no-explicit-any -- A tool's erased type takes any input.
export interface ToolApproval<I = any> {
  /** Returns false if the tool may run at once. By default every call waits. */
  when?(input: I): MaybePromise<boolean>;
  /** Makes the texts for the page, without side effects. */
  show?(input: I): MaybePromise<ApprovalShown>;
  /**
   * The person who approves: by default the caller; with a scope, another
   * person who may have that scope.
   */
  by?: "caller" | ApprovalScope;
  /**
   * Asks for a passkey (WebAuthn Level 3, user verification). With `wanted`,
   * people without a passkey press a button.
   */
  passkey?: "wanted" | "required";
  /**
   * Lets the approver skip later approvals for a while, for calls of the same
   * client with the same `key` of the offer. Return undefined to ask every
   * time. Goes with neither `passkey` nor a scope in `by`.
   */
  remember?(input: I): MaybePromise<ApprovalOffer | undefined>;
  /**
   * The seconds for which a call waits for its approval; an approved call must
   * then run within the same time. 15 minutes by default.
   */
  expiresIn?: number;
}

/** The options of {@linkcode ToolApproval}. */
export const TOOL_APPROVAL = {
  when: kinds.FUNCTION,
  show: kinds.FUNCTION,
  by: {
    ...kinds.either(
      kinds.choice("caller"),
      kinds.object<ApprovalScope>({ scope: kinds.required(SCOPE) }),
    ),
    wants: '"caller" or { scope: "…" }',
  },
  passkey: kinds.choice("wanted", "required"),
  remember: kinds.FUNCTION,
  expiresIn: kinds.numberFrom(
    `60 to ${MAX_APPROVAL_SECONDS} seconds`,
    60,
    MAX_APPROVAL_SECONDS,
  ),
} satisfies kinds.Members<ToolApproval>;
