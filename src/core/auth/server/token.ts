/**
 * `POST /token`: authenticates the client and runs its grant type.
 *
 * @see RFC 6749 §3.2
 * @module
 */
import type { Context } from "@hono/hono";
import { OAuthError } from "../../errors.ts";
import {
  type Client,
  clientName,
  MACHINE_GRANT_TYPE,
  shortClientId,
} from "../../oauth/client.ts";
import { parseCredential } from "../../oauth/credential.ts";
import type { Parameters } from "../../oauth/parameters.ts";
import { checkResources } from "../../oauth/resource.ts";
import {
  type IssuedTokens,
  printTokenResponse,
} from "../../oauth/refresh_token.ts";
import { now } from "../../clock.ts";
import { bestEffort } from "../../kv/operations.ts";
import { readParameters } from "../../http/body.ts";
import { networkOf } from "../../http/client_address.ts";
import { Buckets, type Rate } from "../../http/buckets.ts";
import { refuseIfLimited, waiveRate } from "../../http/rate_limit.ts";
import { authorizationCodeGrant } from "./authorization_code_grant.ts";
import { clientCredentialsGrant } from "./client_credentials_grant.ts";
import { refreshTokenGrant } from "./refresh_token_grant.ts";
import type { GrantType } from "./grant_type.ts";
import type { AuthServices } from "../services.ts";

/**
 * The rate limit of each process for one client's token requests that need no
 * person, such as those with `client_credentials`.
 */
const PER_CLIENT: Rate = { burst: 300, perSecond: 5 };

export function tokenEndpoint(
  services: AuthServices,
  added: readonly GrantType[] = [],
): (c: Context) => Promise<Response> {
  const { baseUrl, clients, codes, refreshTokens, clientUses } = services;
  const { clock, log } = services;
  const redeemCode = authorizationCodeGrant(services);
  const refresh = refreshTokenGrant(services);
  const issueToMachine = clientCredentialsGrant(services);
  const withoutPage = new Buckets(PER_CLIENT);

  /**
   * Starts reading the code or refresh token, in parallel with reading the
   * client.
   */
  function readAhead(parameters: Parameters) {
    const code = parameters.get("code");
    const refreshToken = parameters.get("refresh_token");
    const ahead = {
      code: code === undefined ? undefined : codes.read(code),
      refreshToken: refreshToken === undefined
        ? undefined
        : refreshTokens.read(refreshToken),
    };
    // Prevents an unhandled rejection: the grant type that awaits the read
    // gets its error.
    Promise.all(Object.values(ahead)).catch(() => {});
    return ahead;
  }

  async function issue(
    c: Context,
    { client, isProven, parameters, ahead }: {
      client: Client;
      /** True if the client has authenticated, not only sent its ID. */
      isProven: boolean;
      parameters: Parameters;
      ahead: ReturnType<typeof readAhead>;
    },
  ): Promise<IssuedTokens> {
    const grantType = parameters.require("grant_type");
    checkResources(parameters.all("resource"), baseUrl);
    c.set("grantType", grantType);
    switch (grantType) {
      case "authorization_code":
        return await redeemCode(parameters, client, ahead.code);
      case "refresh_token":
        return await refresh(parameters, client, ahead.refreshToken);
      case MACHINE_GRANT_TYPE:
        refuseIfLimited(withoutPage.take(client.clientId));
        return await issueToMachine(parameters, client);
    }
    const type = added.find(({ name }) => name === grantType);
    if (!type) {
      // Telemetry must get known values only, so an unknown grant type is
      // removed.
      c.set("grantType", undefined);
      throw new OAuthError(
        "unsupported_grant_type",
        "grant_type must be one of grant_types_supported in the metadata",
      );
    }
    // Counted only for an authenticated client, because anyone can send a
    // client's ID.
    if (isProven) refuseIfLimited(withoutPage.take(client.clientId));
    const { tokens, grant } = await type.redeem(parameters, client, isProven);
    log.audit(type.signedIn, {
      reference: c.get("reference"),
      clientId: shortClientId(client.clientId),
      client: grant.clientName,
      subject: grant.subject,
      grantId: grant.id,
    });
    return tokens;
  }

  return async function token(c) {
    const { headers } = c.req.raw;
    const parameters = await readParameters(c);
    const ahead = readAhead(parameters);
    return await clients.authenticate(
      { headers, parameters, network: networkOf(c) },
      async (client, isProven) => {
        c.set("client", clientName(client));
        c.set("clientId", shortClientId(client.clientId));
        // Nothing may fail after this: the code or refresh token is used up.
        const known = { client, isProven, parameters, ahead };
        const tokens = await issue(c, known);
        c.set("grantId", parseCredential(tokens.accessToken)?.grantId);
        waiveRate(c);
        await bestEffort(() => clients.keepDocuments(client));
        if (client.isConfigured) clientUses.touch(client.clientId);
        return c.json(printTokenResponse(tokens, now(clock)));
      },
    );
  };
}
