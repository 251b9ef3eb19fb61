/**
 * `GET /account/tokens`: a person's access tokens, and the form for another.
 *
 * @module
 */
import type { Scopes } from "../../authoring/scope.ts";
import { TokenSection } from "../../pages/token_section.tsx";
import type {
  AccountSession,
  AccountSessionStore,
} from "../../store/account_sessions.ts";
import type { LedgerStore } from "../../store/ledger.ts";
import { isAllowed } from "../rules/allowed_users.ts";
import type { ListEntry } from "../rules/list_entry.ts";
import type { Permissions } from "../rules/permissions.ts";
import { callsHref } from "./calls_part.ts";
import { tokenInWords, type WordSources } from "./grant_words.ts";
import { ownGrants, type OwnGrantSources } from "./own_grants.ts";
import type { AccountPart } from "./account_part.ts";
import { opensAnything, tokenDays } from "./personal_tokens.ts";

/** Makes the part. */
export function tokensPart(
  options: Pick<WordSources, "inWords"> & OwnGrantSources & {
    /** The scopes that a new access token may have. */
    scopes: Scopes;
    permissions?: Permissions;
    allowedUsers: readonly ListEntry[];
    opensUnscoped: boolean;
    accountSessions: Pick<AccountSessionStore, "findMade">;
    /** Absent where no calls are kept. */
    ledger?: LedgerStore;
  },
): AccountPart {
  const { scopes, permissions, accountSessions, lifetimes } = options;

  /** True if a new token of the person could open anything. */
  function mayMake(session: AccountSession, may: readonly string[]): boolean {
    return isAllowed(session, options.allowedUsers) &&
      opensAnything(may, options);
  }
  return {
    name: "tokens",
    label: "Access tokens",
    title: "Your access tokens",

    async show(visit) {
      const { id, session, form, now, query: { made: madeId } } = visit;
      const [{ own, most }, madeToken] = await Promise.all([
        ownGrants(session.subject, options),
        madeId === undefined ? undefined : accountSessions.findMade(id, madeId),
      ]);
      const tokens = own.filter(({ kind }) => kind === "token");
      const made = tokens.find((grant) => grant.id === madeId);
      const grantable = permissions?.ceiling(session) ?? scopes.supported;
      return TokenSection({
        ...form,
        tokens: tokens.map((grant) => ({
          ...tokenInWords(grant, options),
          callsHref: options.ledger && callsHref(visit, grant.clientName),
        })),
        scopes: options.inWords(grantable),
        isBare: grantable.length === 0 && scopes.supported.length > 0,
        mayMake: mayMake(session, grantable),
        days: tokenDays(lifetimes),
        made: made && { name: made.clientName, token: madeToken },
        most,
        now,
      });
    },
  };
}
