/**
 * The people before the pages of approvals, and the callers whose calls wait.
 *
 * @module
 */
import type { Identity } from "../../core/caller.ts";
import {
  asVerified,
  verifiedAddresses,
} from "../../core/oauth/allowed_users.ts";
import { personName } from "../../core/oauth/person.ts";

/** A person before the page of an approval. */
export interface Approver {
  subject: string;
  /** The person as their provider knows them. */
  identity?: Identity;
  /** The scopes that they hold now. */
  scopes: readonly string[];
}

/** A person, if their provider has named them. */
type Named = Pick<Approver, "subject" | "identity">;

export const nameOfPerson = ({ subject, identity }: Named) =>
  identity ? personName({ subject, identity }) : subject;

export const addressesOf = ({ identity }: Named) =>
  identity ? verifiedAddresses(asVerified(identity)) : [];
