/**
 * Decides which person may answer which approval.
 *
 * @module
 */
import type { Identity } from "../../core/caller.ts";
import {
  asVerified,
  verifiedAddresses,
} from "../../core/oauth/allowed_users.ts";
import { personName } from "../../core/oauth/person.ts";
import type { CallApproval } from "./call_approval.ts";

/** A signed-in person on the page of an approval. */
export interface Approver {
  subject: string;
  /** The identity that the provider reported. */
  identity?: Identity;
  /** The scopes that the person may have now. */
  scopes: readonly string[];
}

type Named = Pick<Approver, "subject" | "identity">;

export const nameOfPerson = ({ subject, identity }: Named) =>
  identity ? personName({ subject, identity }) : subject;

/** Returns what the provider vouches for: a verified address, or the subject. */
export const accountOf = ({ subject, identity }: Named) =>
  identity && verifiedAddresses(identity)[0] || subject;

/**
 * Returns a person's addresses in the form in which they are compared with
 * another person's.
 */
export const emailsOf = ({ identity }: Named) =>
  identity ? verifiedAddresses(asVerified(identity)).map(comparable) : [];

/**
 * Returns the same text for all spellings of an address. It may do so for two
 * addresses, too: then one person too many may not approve. Operators' rules
 * are compared without this.
 */
function comparable(address: string): string {
  const text = address.normalize("NFKC").replaceAll(/[\s\p{C}"\\]/gu, "");
  const [, name, domain] = /^(.*@)?(.*)$/.exec(text)!;
  // Of the spellings of a domain, the host of a URL is the one in ASCII.
  const host = URL.parse(`http://${domain}`)?.hostname ?? domain;
  return lower(name ?? "") + lower(host).replace(/\.+$/, "");
}

const lower = (text: string) =>
  text.toUpperCase().toLowerCase().normalize("NFKC");

/**
 * True if a person may approve a call: without a scope, the caller; with a
 * scope, everyone who has it, except the caller (under any provider).
 */
export function mayDecide(
  { subject, approval: { scope }, payload: { caller } }: CallApproval,
  person: Approver,
): boolean {
  if (scope === undefined) return subject === person.subject;
  const addresses = emailsOf(person);
  return subject !== person.subject && person.scopes.includes(scope) &&
    !addresses.some((address) => caller.addresses.includes(address));
}

/**
 * True if a call that someone else has to approve was refused by its caller.
 */
export const isTakenBack = (
  { answer, subject, approval: { scope } }: CallApproval,
) =>
  scope !== undefined && answer?.action === "decline" && answer.by === subject;

/**
 * True if an approval can still be answered: it is open, or a person who may
 * approve it has refused it. A task's approval is not answered again, because
 * the refusal ended the task.
 */
export function isToBeDecided(it: CallApproval): boolean {
  const { state, answer, pageTask } = it;
  return state === "open" || state === "answered" &&
      answer?.action === "decline" && pageTask === undefined &&
      !isTakenBack(it);
}
