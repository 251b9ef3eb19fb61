/**
 * The rule that decides when the provider is asked again about a person:
 * addresses and groups pass from one person to another while grants live on.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import { isAddressEntry } from "./allowed_users.ts";
import type { ListEntry } from "./list_entry.ts";
import type { Grant } from "./grant.ts";
import { IDENTITY_RECHECK_SECONDS } from "./lifetimes.ts";
import {
  completed,
  knownIdentity,
  type ProviderIdentity,
  unknownParts,
  withoutMemberships,
} from "./person.ts";
import type { Permissions } from "./permissions.ts";

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
    if (!blocked.some(isAddressEntry)) delete reduced.unverifiedEmails;
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
      if (answer && unknownParts(answer, grant.identity).length === 0) {
        const identity = reduce(knownIdentity(answer));
        return { ...grant, identity, confirmedAt: now };
      }
      if (answer) {
        const identity = isStale(grant, now)
          ? knownIdentity(answer)
          : completed(answer, grant.identity);
        return { ...grant, identity: reduce(identity) };
      }
      if (!isStale(grant, now)) return grant;
      const known = withoutMemberships(grant.identity);
      if (known.emailVerified) known.emailVerified = false;
      return { ...grant, identity: known };
    },
    reduce,
  };
}
