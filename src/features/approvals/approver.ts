/**
 * The people who open the pages of approvals, and the callers whose calls wait.
 *
 * @module
 */
import type { Identity } from "../../core/caller.ts";
import {
  asVerified,
  verifiedAddresses,
} from "../../core/oauth/allowed_users.ts";
import { personName } from "../../core/oauth/person.ts";

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

export const addressesOf = ({ identity }: Named) =>
  identity ? verifiedAddresses(asVerified(identity)) : [];
