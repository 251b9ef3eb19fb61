/**
 * What a browser approved before. It never replaces the consent page: it adds
 * earlier scopes to it, and tells whether an error may go to a redirect URI
 * without asking.
 *
 * @module
 */
import type { AuthorizationRequest } from "../oauth/authorization_request.ts";
import { APPROVAL_TTL_SECONDS } from "../oauth/lifetimes.ts";
import { unionOfScopes } from "../oauth/scope.ts";
import type { Database, Expiring } from "./database.ts";
import { approvalKey } from "./keys.ts";
import type { Write } from "./transaction.ts";

interface ApprovalRecord extends Expiring {
  scopes: string[];
}

/** Who was approved, and where the answer went. */
export type Approved = Pick<
  AuthorizationRequest,
  "clientId" | "redirectUri" | "resource"
>;

export type ApprovalStore = ReturnType<typeof approvalStore>;

/** Approvals of browsers. `browser` is the value of its cookie. */
export function approvalStore(database: Database) {
  // The client alone is not what was approved: its answers go somewhere.
  function keyOf(browser: string, what: Approved): Deno.KvKey {
    const { clientId, redirectUri, resource } = what;
    return approvalKey(
      browser,
      JSON.stringify([clientId, redirectUri, resource]),
    );
  }

  return {
    /** The scopes approved before; undefined when nothing was. */
    async find(browser: string, what: Approved): Promise<string[] | undefined> {
      const key = keyOf(browser, what);
      return (await database.find<ApprovalRecord>(key))?.value.scopes;
    },

    /**
     * Adds what is approved now to what was before, for a commit that fails
     * when someone else adds to it meanwhile.
     *
     * @param offered what the person could choose from; the rest stays
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
