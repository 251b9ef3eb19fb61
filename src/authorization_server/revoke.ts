/**
 * `POST /revoke`: ends an access token, or a refresh token and its grant.
 *
 * @see RFC 7009
 * @module
 */
import type { Context } from "@hono/hono";
import { OAuthError } from "../errors.ts";
import type { Logger } from "../log.ts";
import { shortClientId } from "../oauth/client_id.ts";
import { acceptedAuthMethods } from "../oauth/client_metadata.ts";
import { parseCredential } from "../oauth/credential.ts";
import type { AccessTokenStore } from "../store/access_tokens.ts";
import type { GrantStore } from "../store/grants.ts";
import type {
  RefreshableGrant,
  RefreshTokenStore,
} from "../store/refresh_tokens.ts";
import type { ProviderTokens } from "../upstream/provider_tokens.ts";
import { readParameters } from "../http/body.ts";
import type { ClientDirectory } from "./client_directory.ts";
import type { EndGrant } from "./end_grant.ts";
import type { CheckRate } from "../http/rate_limit.ts";

/**
 * Revokes tokens. The answer is 200 whether there was anything to revoke or
 * not (RFC 7009 §2.2).
 */
export function revokeEndpoint(
  {
    clients,
    accessTokens,
    refreshTokens,
    grants,
    providerTokens,
    endGrant,
    checkRate,
    log,
  }: {
    clients: ClientDirectory;
    accessTokens: AccessTokenStore;
    refreshTokens: RefreshTokenStore;
    grants: GrantStore;
    providerTokens: ProviderTokens;
    endGrant: EndGrant;
    checkRate: CheckRate;
    log: Logger;
  },
): (c: Context) => Promise<Response> {
  async function revokeAccess(token: string, clientId: string): Promise<void> {
    const access = await accessTokens.find(token);
    if (access?.grant.clientId === clientId) await accessTokens.revoke(token);
  }

  async function revokeRefresh(token: string, clientId: string): Promise<void> {
    const found = await findRefresh(token, clientId);
    if (!found) return;
    const grantId = found.grant.id;
    const dataKey = () => Promise.resolve(found.dataKey);
    // They go with the grant, so they are read before.
    const tellProvider = await providerTokens.revocation({ grantId, dataKey });
    await endGrant(found.grant);
    log.info("Grant revoked", { grantId, clientId: shortClientId(clientId) });
    try {
      await tellProvider();
    } catch (error) {
      // The provider keeps a token that no one here can open any more.
      log.warning("The provider did not revoke", { grantId, error });
    }
  }

  /** Whoever holds one may end it: it has got lost, or it is no longer used. */
  async function revokePersonal(token: string): Promise<void> {
    const access = await accessTokens.find(token);
    if (!access) return;
    await endGrant(access.grant);
    log.info("Access token revoked", { grantId: access.grant.id });
  }

  async function findRefresh(
    token: string,
    clientId: string,
  ): Promise<RefreshableGrant | undefined> {
    try {
      const found = await refreshTokens.find(token, clientId);
      if ("grant" in found) return found;
      // It was exchanged a moment ago: what it became opens the same grant.
      return await findRefresh(found.successors.refreshToken!, clientId);
    } catch (error) {
      if (error instanceof OAuthError) return undefined;
      throw error;
    }
  }

  async function revokeBy(clientId: string, token: string): Promise<void> {
    switch (parseCredential(token)?.kind) {
      case "access_token":
        return await revokeAccess(token, clientId);
      case "refresh_token":
        return await revokeRefresh(token, clientId);
    }
  }

  /** The public client that a token was issued to: it has nothing to show. */
  async function publicClientOf(token: string): Promise<string | undefined> {
    const { grantId } = parseCredential(token) ?? {};
    const grant = grantId && await grants.find(grantId);
    if (!grant) return undefined;
    const { clientId } = grant.value;
    const { metadata } = await clients.find(clientId, { stale: true });
    return acceptedAuthMethods(metadata).includes("none")
      ? clientId
      : undefined;
  }

  return async function revoke(c) {
    c.header("Cache-Control", "no-store");
    await checkRate(c);
    const { headers } = c.req.raw;
    const parameters = await readParameters(c.req.raw);
    const token = parameters.require("token");
    if (parseCredential(token)?.kind === "personal_token") {
      await revokePersonal(token);
      return c.body(null, 200);
    }
    const isNamed = headers.has("authorization") ||
      parameters.get("client_id") !== undefined ||
      parameters.get("client_assertion") !== undefined;
    const clientId = isNamed
      ? (await clients.authenticate(headers, parameters)).clientId
      : await publicClientOf(token);
    if (clientId !== undefined) await revokeBy(clientId, token);
    return c.body(null, 200);
  };
}
