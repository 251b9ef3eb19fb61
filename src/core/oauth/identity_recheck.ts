/**
 * The rule that decides when the provider is asked again about a person:
 * addresses and groups pass from one person to another while grants live on.
 *
 * @module
 */
import type { Identity, Membership } from "../caller.ts";
import { isAddressEntry } from "./allowed_users.ts";
import type { ListEntry } from "./list_entry.ts";
import type { Grant } from "./grant.ts";
import { IDENTITY_RECHECK_SECONDS } from "./lifetimes.ts";
import {
  knownIdentity,
  type ProviderIdentity,
  withoutMemberships,
} from "./person.ts";
import type { Permissions } from "./permissions.ts";

/** Lists the parts of a known identity that a provider's response lacks. */
function unknownParts(
  { unknown = [] }: ProviderIdentity,
  known: Identity,
): readonly (Membership | "email")[] {
  return unknown.filter((part) =>
    part === "email" ? known.emailVerified : known[part]
  );
}

/**
 * Completes a provider's identity: copies the missing parts from the known one.
 * From a stale one, copies only the addresses, which then count as unverified:
 * they still tell that two people may be one.
 */
function completed(
  answer: ProviderIdentity,
  known: Identity,
  isStale: boolean,
): Identity {
  const identity = knownIdentity(answer);
  for (const part of answer.unknown ?? []) {
    if (part === "email" && known.email) {
      const { email, otherEmails, unverifiedEmails } = known;
      const emailVerified = known.emailVerified && !isStale;
      const all = { email, emailVerified, otherEmails, unverifiedEmails };
      Object.assign(identity, all);
    } else if (part !== "email" && !isStale) identity[part] = known[part];
  }
  return identity;
}

export type IdentityRecheck = ReturnType<typeof identityRecheck>;

/** Makes the rule from the lists of people and the permissions of a server. */
export function identityRecheck(
  { allowedUsers, blocked, admins, permissions }: {
    allowedUsers: readonly ListEntry[];
    /** `OAUTH_BLOCKED`. */
    blocked: readonly ListEntry[];
    /** `OAUTH_ADMINS`. */
    admins: readonly ListEntry[];
    permissions?: Permissions;
  },
) {
  const usesMemberships = (permissions?.memberships.size ?? 0) > 0;
  const usesAddresses = [...allowedUsers, ...blocked].some(isAddressEntry) ||
    permissions?.usesAddresses === true;
  const keepsAddresses = usesAddresses || admins.some(isAddressEntry);
  // An address that two people have in common keeps them from approving each
  // other's calls, also if it is unverified.
  const usesUnverified = permissions?.usesAddresses ||
    blocked.some(isAddressEntry);

  function isStale({ confirmedAt, createdAt }: Grant, now: number): boolean {
    return now >= (confirmedAt ?? createdAt) + IDENTITY_RECHECK_SECONDS;
  }

  /**
   * Removes from an identity the memberships and further addresses that no rule
   * uses.
   */
  function reduce(identity: Identity): Identity {
    const reduced = permissions?.reduce(identity) ??
      withoutMemberships(identity);
    if (!keepsAddresses) delete reduced.otherEmails;
    if (!usesUnverified) delete reduced.unverifiedEmails;
    return reduced;
  }

  return {
    /** Returns true if the provider must be asked at this refresh. */
    isDue: (grant: Grant, now: number): boolean =>
      usesMemberships || usesAddresses && isStale(grant, now),
    /**
     * Returns the grant with the identity that the provider now gives. Without
     * an `answer`, the known identity stays for a day after the provider last
     * confirmed it; then its memberships are removed, and its address counts as
     * unverified. The same holds for each part that an incomplete answer lacks.
     */
    confirm(
      grant: Grant,
      answer: ProviderIdentity | undefined,
      now: number,
    ): Grant {
      const stale = isStale(grant, now);
      if (answer) {
        const identity = reduce(completed(answer, grant.identity, stale));
        const isWhole = unknownParts(answer, grant.identity).length === 0;
        return { ...grant, identity, ...isWhole && { confirmedAt: now } };
      }
      if (!stale) return grant;
      const known = withoutMemberships(grant.identity);
      if (known.emailVerified) known.emailVerified = false;
      return { ...grant, identity: known };
    },
    reduce,
  };
}
