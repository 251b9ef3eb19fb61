/**
 * Decides when to ask the provider again about a person: during the life of a
 * grant, an e-mail address or a group may pass to another person.
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

/**
 * Lists the parts of a known identity that are missing in the provider's
 * response.
 */
function unknownParts(
  { unknown = [] }: ProviderIdentity,
  known: Identity,
): readonly (Membership | "email")[] {
  return unknown.filter((part) =>
    part === "email" ? known.emailVerified : known[part]
  );
}

/**
 * Adds to a provider's response the parts that it lacks, from the known
 * identity. If the known identity is stale, only addresses are added, as
 * unverified ones.
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

/** Makes the rules from the settings about people. */
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
  // If two people share an address, even an unverified one, they may not
  // approve each other's calls.
  const usesUnverified = permissions?.usesAddresses ||
    blocked.some(isAddressEntry);

  function isStale({ confirmedAt, createdAt }: Grant, now: number): boolean {
    return now >= (confirmedAt ?? createdAt) + IDENTITY_RECHECK_SECONDS;
  }

  /** Removes the memberships and further addresses that no rule uses. */
  function reduce(identity: Identity): Identity {
    const reduced = permissions?.reduce(identity) ??
      withoutMemberships(identity);
    if (!keepsAddresses) delete reduced.otherEmails;
    if (!usesUnverified) delete reduced.unverifiedEmails;
    return reduced;
  }

  return {
    /** True if this refresh must ask the provider about the person. */
    isDue: (grant: Grant, now: number): boolean =>
      usesMemberships || usesAddresses && isStale(grant, now),
    /**
     * Updates the identity in a grant with the provider's `answer`. Without an
     * answer, the identity remains for a day after the provider's last
     * confirmation. After that, its memberships are removed and its address is
     * unverified. The same applies to each part that is missing in an answer.
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
