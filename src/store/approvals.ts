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
import { approvalKey } from "./keys.ts";
import { alive, commit, expireIn, type Expiring, find, reach } from "./kv.ts";
import { now } from "../clock.ts";

interface ApprovalRecord extends Expiring {
  scopes: string[];
}

/** Who was approved, and where the answer went. */
export type Approved = Pick<
  AuthorizationRequest,
  "clientId" | "redirectUri" | "resource"
>;

/** Approvals of browsers. `browser` is the value of its cookie. */
export interface ApprovalStore {
  /** The scopes approved before; undefined when nothing was. */
  find(browser: string, what: Approved): Promise<string[] | undefined>;
  save(
    browser: string,
    request: Approved & { scopes: readonly string[] },
  ): Promise<void>;
}

/** Approvals in a database. */
export function approvalStore(kv: Deno.Kv): ApprovalStore {
  // The client alone is not what was approved: its answers go somewhere.
  function keyOf(browser: string, what: Approved): Deno.KvKey {
    const { clientId, redirectUri, resource } = what;
    return approvalKey(
      browser,
      JSON.stringify([clientId, redirectUri, resource]),
    );
  }

  return {
    async find(browser, what) {
      const found = await find<ApprovalRecord>(kv, keyOf(browser, what));
      return found?.value.scopes;
    },

    async save(browser, request) {
      const key = keyOf(browser, request);
      for (let saved = false; !saved;) {
        const entry = await reach(() => kv.get<ApprovalRecord>(key));
        const before = alive(entry)?.value.scopes ?? [];
        const record: ApprovalRecord = {
          scopes: unionOfScopes(before, request.scopes),
          expiresAt: now() + APPROVAL_TTL_SECONDS,
        };
        saved = await commit(
          kv,
          (operation) =>
            operation.check(entry).set(key, record, expireIn(record)),
        );
      }
    },
  };
}
