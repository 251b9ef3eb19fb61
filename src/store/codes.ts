/**
 * Authorization codes: good once, for 60 seconds, for the client that began.
 *
 * @see RFC 6749 §4.1.2, RFC 9700 §2.1.1
 * @module
 */
import { OAuthError } from "../errors.ts";
import { parseCredential } from "../oauth/credential.ts";
import { type Grant, useGrant } from "../oauth/grant.ts";
import { USED_CODE_TTL_SECONDS } from "../oauth/lifetimes.ts";
import { checkCodeVerifier } from "../oauth/pkce.ts";
import { unwrapDataKey } from "../oauth/data_key.ts";
import type { IssuedTokens } from "../oauth/token_request.ts";
import { grantStore } from "./grants.ts";
import { issueTokens } from "./issuance.ts";
import { codeKey, grantKey, upstreamKey } from "./keys.ts";
import { alive, commit, expireIn, type Expiring, reach } from "./kv.ts";
import { now } from "../clock.ts";
import type { UpstreamRecord } from "./upstream_tokens.ts";

/** What stands behind a code. */
export interface CodeRecord extends Expiring {
  grantId: string;
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
  /** The grant's data key, sealed with the code. */
  wrappedKey: string;
  usedAt?: number;
}

/** A redemption by a client that has authenticated itself. */
export interface Redemption {
  code: string;
  clientId: string;
  codeVerifier: string;
  redirectUri?: string;
  /** Whether the client registered for refresh tokens. */
  refreshable: boolean;
}

/**
 * Redeems a code. Of any number of attempts one gets tokens; any later one by
 * the same client, with the right verifier, ends the grant.
 *
 * @throws {OAuthError} `invalid_grant`
 */
export async function useCode(
  kv: Deno.Kv,
  { code, clientId, codeVerifier, redirectUri, refreshable }: Redemption,
): Promise<IssuedTokens> {
  const credential = parseCredential(code);
  if (credential?.kind !== "code") refuse();
  const { grantId } = credential;
  for (;;) {
    const key = codeKey(code);
    const [codeEntry, grantEntry, upstreamEntry] = await reach(() =>
      kv.getMany<[CodeRecord, Grant, UpstreamRecord]>([
        key,
        grantKey(grantId),
        upstreamKey(grantId),
      ])
    );
    const found = alive(codeEntry);
    if (!found || found.value.clientId !== clientId) refuse();
    if (redirectUri !== undefined && redirectUri !== found.value.redirectUri) {
      throw new OAuthError(
        "invalid_grant",
        "redirect_uri is not that of the authorization request",
      );
    }
    checkCodeVerifier(codeVerifier, found.value.codeChallenge);
    if (found.value.usedAt !== undefined) {
      await grantStore(kv).close(grantId, "code replayed");
      throw new OAuthError("invalid_grant", "The code was used before");
    }
    const grant = alive(grantEntry)?.value;
    const upstream = alive(upstreamEntry)?.value;
    if (grant?.status !== "pending" || !upstream) refuse();

    const time = now();
    const used = useGrant(grant, { refreshable, now: time });
    const { tokens, write } = await issueTokens(used, {
      dataKey: await unwrapDataKey(found.value.wrappedKey, grantId, code),
      scopes: used.scopes,
      refreshable,
    });
    const usedCode: CodeRecord = {
      ...found.value,
      wrappedKey: "",
      usedAt: time,
      expiresAt: time + USED_CODE_TTL_SECONDS,
    };
    // As long as the grant may live at most: refreshes then need not touch it.
    const kept: UpstreamRecord = { ...upstream, expiresAt: used.endsAt };
    const won = await commit(kv, (operation) =>
      write(operation)
        .check(codeEntry, grantEntry, upstreamEntry)
        .set(key, usedCode, expireIn(usedCode))
        .set(upstreamKey(grantId), kept, expireIn(kept)));
    if (won) return tokens;
  }
}

function refuse(): never {
  throw new OAuthError("invalid_grant", "The code is unknown or has expired");
}
