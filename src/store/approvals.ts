/**
 * A browser's earlier approvals. They never replace the consent page: they add
 * earlier scopes to it, and decide if an error may be sent to a redirect URI
 * without asking.
 *
 * @module
 */
import type { AuthorizationRequest } from "../auth/rules/authorization_request.ts";
import { APPROVAL_TTL_SECONDS } from "../auth/rules/lifetimes.ts";
import { unionOfScopes } from "../auth/rules/scope.ts";
import type { Database, Expiring } from "./database.ts";
import { approvalKey } from "./keys.ts";
import type { Write } from "./transaction.ts";

interface ApprovalRecord extends Expiring {
  scopes: string[];
}

/** The client that was approved, and the address of its answers. */
type Approved = Pick<
  AuthorizationRequest,
  "clientId" | "redirectUri" | "resource"
>;

export type ApprovalStore = ReturnType<typeof approvalStore>;

/** Approvals of browsers. `browser` is the value of its cookie. */
export function approvalStore(database: Database) {
  // The redirect URI is part of the approval: its answers go there.
  function keyOf(browser: string, what: Approved): Deno.KvKey {
    const { clientId, redirectUri, resource } = what;
    return approvalKey(
      browser,
      JSON.stringify([clientId, redirectUri, resource]),
    );
  }

  return {
    /** Finds the scopes approved before; undefined if there are none. */
    async find(browser: string, what: Approved): Promise<string[] | undefined> {
      const key = keyOf(browser, what);
      return (await database.find<ApprovalRecord>(key))?.value.scopes;
    },

    /**
     * Adds the present approval to the earlier ones, for a commit that fails if
     * another one changes them meanwhile.
     *
     * @param offered the scopes that the person could choose from; others stay
     * approved
     */
    async add(
      browser: string,
      request: Approved & { scopes: readonly string[] },
      offered: readonly string[] = [],
    ): Promise<Write> {
      const key = keyOf(browser, request);
      const entry = await database.get<ApprovalRecord>(key);
      const record: ApprovalRecord = {
        scopes: unionOfScopes(
          (entry.value?.scopes ?? []).filter((it) => !offered.includes(it)),
          request.scopes,
        ),
        expiresAt: database.now() + APPROVAL_TTL_SECONDS,
      };
      return (transaction) => transaction.check(entry).set(key, record);
    },
  };
}
