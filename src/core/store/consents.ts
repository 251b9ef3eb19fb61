/**
 * Consents: the scopes that people granted earlier in a browser. They never
 * replace the consent page: they add earlier scopes to the page, and allow an
 * error to be sent to a redirect URI without showing it to the person first.
 *
 * @module
 */
import type { AuthorizationRequest } from "../oauth/authorization_request.ts";
import { CONSENT_TTL_SECONDS } from "../oauth/lifetimes.ts";
import { withoutLoopbackPort } from "../oauth/redirect_uri.ts";
import { unionOfScopes } from "../oauth/scope.ts";
import type { Grant } from "../oauth/grant.ts";
import { fingerprint } from "../crypto/crypto.ts";
import type { Database, Entry, Expiring, Write } from "../kv/database.ts";
import { consentKey } from "../kv/keys.ts";

/** The scopes that were granted in a browser. */
export interface Consent extends Expiring {
  scopes: readonly string[];
  /** The scopes that the person has revoked since. */
  revokedScopes?: readonly string[];
}

type ConsentTarget = Pick<
  AuthorizationRequest,
  "clientId" | "redirectUri" | "resource"
>;

/**
 * Makes the store of consents. `browser` is the value of a browser's cookie.
 */
export function consentStore(database: Database) {
  // Approvals are stored by redirect URI, without the port of loopback: any
  // page could send the browser to any port by itself.
  function keyOf(browserFingerprint: string, what: ConsentTarget): Deno.KvKey {
    const { clientId, redirectUri, resource } = what;
    return consentKey(
      browserFingerprint,
      JSON.stringify([clientId, withoutLoopbackPort(redirectUri), resource]),
    );
  }

  return {
    /** Finds the earlier consent; undefined if there is none. */
    async find(
      browser: string,
      what: ConsentTarget,
    ): Promise<Consent | undefined> {
      const key = keyOf(fingerprint(browser), what);
      return (await database.find<Consent>(key))?.value;
    },

    /** Removes scopes from the consents that were given for some grants. */
    async revokeScopes(
      grants: readonly Grant[],
      scopes: readonly string[],
    ): Promise<void> {
      for (const { browserFingerprint, redirectUri, ...grant } of grants) {
        if (!browserFingerprint || !redirectUri) continue;
        await database.change(
          keyOf(browserFingerprint, { ...grant, redirectUri }),
          (transaction, { key, value }: Entry<Consent>) => {
            if (!value) return;
            const revokedScopes = unionOfScopes(
              value.revokedScopes ?? [],
              scopes,
            );
            transaction.set(key, { ...value, revokedScopes });
          },
        );
      }
    },

    /**
     * Adds a new consent to the stored one. Returns a write, whose commit
     * fails if the stored consent has changed meanwhile.
     *
     * @param offered the scopes that the person could choose from; other stored
     * scopes stay granted
     */
    async add(
      browser: string,
      request: ConsentTarget & { scopes: readonly string[] },
      offered: readonly string[] = [],
    ): Promise<Write> {
      const key = keyOf(fingerprint(browser), request);
      const entry = await database.get<Consent>(key);
      const { scopes = [], revokedScopes = [] } = entry.value ?? {};
      const record: Consent = {
        scopes: unionOfScopes(
          scopes.filter((it) => !offered.includes(it)),
          request.scopes,
        ),
        revokedScopes: revokedScopes.filter((it) =>
          !request.scopes.includes(it)
        ),
        expiresAt: database.now() + CONSENT_TTL_SECONDS,
      };
      return (transaction) => transaction.check(entry).set(key, record);
    },
  };
}
