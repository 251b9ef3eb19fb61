/**
 * Token revocation, `POST /revoke`: ends an access token, or a refresh token
 * and its grant.
 *
 * @see RFC 7009
 * @module
 */
import type { Context } from "@hono/hono";
import {
  acceptedAuthMethods,
  type Client,
  shortClientId,
} from "../../oauth/client.ts";
import { now } from "../../clock.ts";
import { parseCredential } from "../../oauth/credential.ts";
import {
  dataKeyOf,
  refreshTokenState,
  replayResponse,
} from "../../oauth/refresh_token.ts";
import type { FoundRefreshToken } from "../../store/grants.ts";
import { isFound } from "../../kv/database.ts";
import { readParameters } from "../../http/body.ts";
import { networkOf } from "../../http/client_address.ts";
import { waiveRate } from "../../http/rate_limit.ts";
import type { AuthServices } from "../services.ts";

/**
 * Makes the endpoint. It also responds with 200 for unknown tokens (RFC 7009
 * §2.2).
 */
export function revokeEndpoint(
  services: AuthServices,
): (c: Context) => Promise<Response> {
  const { clients, accessTokens, refreshTokens, providerTokens } = services;
  const { endGrants, clock, log } = services;
  /**
   * Finds the client of a token, and the function that revokes the token.
   * Undefined if the token is unknown.
   */
  async function find(token: string): Promise<
    { clientId: string; revoke(c: Context): Promise<void> } | undefined
  > {
    switch (parseCredential(token)?.kind) {
      case "access_token": {
        const access = await accessTokens.find(token);
        return access && {
          clientId: access.grant.clientId,
          revoke: () => accessTokens.revoke(token, access.read),
        };
      }
      case "refresh_token": {
        const read = await refreshTokens.read(token);
        const grant = read?.grant.value;
        return grant && {
          clientId: grant.clientId,
          revoke: (c) => revokeRefreshToken(c, token, read),
        };
      }
    }
  }

  /** Ends the grant of a refresh token, and revokes the provider's tokens. */
  async function revokeRefreshToken(
    c: Context,
    refreshToken: string,
    read: FoundRefreshToken,
  ): Promise<void> {
    const { grant: found } = read;
    if (!isFound(found) || found.value.status !== "active") return;
    const { value: grant } = found;
    const state = refreshTokenState(refreshToken, grant, now(clock));
    if (state === undefined) return;
    // A refresh token that was exchanged decrypts only the response that it
    // got. The refresh token in that response decrypts the grant's data key.
    const current = state === "exchanged"
      ? (await replayResponse(refreshToken, grant)).refreshToken!
      : refreshToken;
    // Read first, because the provider's tokens are deleted with the grant.
    const revokeAtProvider = state === "reused"
      ? undefined
      : await providerTokens.revocation({
        grant,
        dataKey: () => dataKeyOf(grant, current),
        sealed: read.upstream,
      });
    await endGrants([found]);
    const reference = c.get("reference");
    const grantId = grant.id;
    log.audit("Grant revoked", {
      reference,
      clientId: shortClientId(grant.clientId),
      grantId,
    });
    try {
      await revokeAtProvider?.();
    } catch (error) {
      // The tokens stay valid at the provider, but can no longer be
      // decrypted here.
      log.warning("The provider did not revoke", { reference, grantId, error });
    }
  }

  /** Revokes a personal access token. Anyone who has it may do so. */
  async function revokePersonal(c: Context, token: string): Promise<void> {
    const access = await accessTokens.find(token);
    if (!access) return;
    await endGrants([access.read]);
    waiveRate(c);
    log.audit("Access token revoked", {
      reference: c.get("reference"),
      grantId: access.grant.id,
    });
  }

  /** True if a client needs no authentication. */
  async function isPublic(clientId: string): Promise<boolean> {
    const { metadata } = await clients.find(clientId, { stale: true });
    return acceptedAuthMethods(metadata).includes("none");
  }

  return async function revoke(c) {
    const { headers } = c.req.raw;
    const parameters = await readParameters(c);
    const token = parameters.require("token");
    if (parseCredential(token)?.kind === "personal_token") {
      await revokePersonal(c, token);
      return c.body(null, 200);
    }
    const isNamed = headers.has("authorization") ||
      parameters.get("client_id") !== undefined ||
      parameters.get("client_assertion") !== undefined;
    // Read in parallel with the client, because both may take a round trip.
    const finding = find(token);
    finding.catch(() => {});
    const revokeFor = async (client?: Client) => {
      const found = await finding;
      const isAllowed = found &&
        (client?.clientId === found.clientId ||
          !client && await isPublic(found.clientId));
      if (isAllowed) {
        await found.revoke(c);
        waiveRate(c);
      }
    };
    if (isNamed) {
      const network = networkOf(c);
      await clients.authenticate({ headers, parameters, network }, revokeFor);
    } else await revokeFor();
    return c.body(null, 200);
  };
}
