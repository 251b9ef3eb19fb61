/**
 * `POST /token`: exchanges a code, a refresh token or an identity provider's
 * assertion for tokens, and issues tokens to machines.
 *
 * @see RFC 6749 §3.2
 * @module
 */
import type { Context } from "@hono/hono";
import { ChallengeError, OAuthError } from "../../errors.ts";
import { type Client, clientName } from "../rules/client.ts";
import { shortClientId } from "../rules/client_id.ts";
import { parseClientCredentials } from "../rules/client_authentication.ts";
import { isMachine } from "../rules/configured_client.ts";
import { parseCredential } from "../rules/credential.ts";
import { type Grant, isGrantOf, openClientGrant } from "../rules/grant.ts";
import type { Confirmation } from "../rules/confirmation.ts";
import type { MayHold } from "../rules/held_scopes.ts";
import type { Parameters } from "../rules/parameters.ts";
import { resourceOf } from "../rules/resource.ts";
import {
  badAssertion,
  JWT_BEARER_GRANT_TYPE,
} from "../rules/identity_assertion.ts";
import { narrowScopes, parseScope } from "../rules/scope.ts";
import {
  type IssuedTokens,
  parseTokenRequest,
  printTokenResponse,
} from "../rules/token_request.ts";
import type { AccessTokenStore } from "../../store/access_tokens.ts";
import type { ClientUseStore } from "../../store/client_uses.ts";
import { isFound } from "../../store/database.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { CodeStore, ReadCode } from "../../store/codes.ts";
import { type Clock, now } from "../../clock.ts";
import type {
  ReadRefreshToken,
  RefreshableGrant,
  RefreshTokenStore,
} from "../../store/refresh_tokens.ts";
import type { Write } from "../../store/transaction.ts";
import { tidy } from "../../store/persist.ts";
import type { ProviderTokens } from "../provider/provider_tokens.ts";
import { readParameters } from "../../http/body.ts";
import type { Logger } from "../../log/log.ts";
import type { AssertedGrant, GrantByAssertion } from "./asserted_grant.ts";
import type { ClientDirectory } from "../clients/client_directory.ts";
import type { CheckRate, WaiveRate } from "../../http/rate_limit.ts";

/** The records of a presented code or token, while they are being read. */
interface Ahead {
  code?: Promise<ReadCode | undefined>;
  refreshToken?: Promise<ReadRefreshToken | undefined>;
}

/** Issues tokens. */
export function tokenEndpoint(
  {
    clock,
    codes,
    baseUrl,
    mayHold,
    confirmation,
    clients,
    grantByAssertion,
    grants,
    clientUses,
    accessTokens,
    refreshTokens,
    providerTokens,
    checkRate,
    waiveRate,
    log,
  }: {
    clock: Clock;
    codes: CodeStore;
    baseUrl: string;
    /** Tells what a grant's tokens may still be used for. */
    mayHold: MayHold;
    /** Decides when the provider is asked who a person is now. */
    confirmation: Confirmation;
    clients: ClientDirectory;
    /** Undefined: no identity provider is trusted. */
    grantByAssertion?: GrantByAssertion;
    grants: Pick<GrantStore, "change">;
    clientUses: ClientUseStore;
    accessTokens: AccessTokenStore;
    refreshTokens: RefreshTokenStore;
    providerTokens: ProviderTokens;
    checkRate: CheckRate;
    waiveRate: WaiveRate;
    log: Logger;
  },
): (c: Context) => Promise<Response> {
  async function refresh(
    { refreshToken, scopes, clientId, ...request }: {
      refreshToken: string;
      scopes: string[];
      clientId: string;
      reading?: Promise<ReadRefreshToken | undefined>;
    },
  ): Promise<IssuedTokens> {
    for (let { reading } = request;; reading = undefined) {
      const found = await refreshTokens.find(refreshToken, clientId, reading);
      if ("successors" in found) return found.successors;
      const { scopes: granted, grantedScopes = granted } = found.grant;
      // Scopes that the person has taken away since may be requested, and are
      // left out below, as RFC 6749 §6 allows.
      const narrowed = narrowScopes(scopes, grantedScopes);
      // Before our own rotation: if the provider does not answer, the client
      // still holds a refresh token that works.
      const tokens = await keepUpstream(found, async (grant, also) => {
        const held = mayHold(grant, narrowed);
        if (!held) throw ended();
        return await refreshTokens.rotate(
          refreshToken,
          { ...found, grant },
          held.scopes,
          also,
        );
      });
      if (tokens) return tokens;
    }
  }

  /**
   * Keeps the provider's tokens valid, then rotates ours. If a rule looks at what
   * may have changed, the provider is asked in between who the person is now; its
   * new tokens are stored before that.
   */
  async function keepUpstream<T>(
    { grant, dataKey, read }: RefreshableGrant,
    rotate: (grant: Grant, also?: Write) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const key = {
      grant,
      dataKey: () => Promise.resolve(dataKey),
      sealed: read.upstream,
    };
    try {
      const here = { issuer: baseUrl, resource: resourceOf(baseUrl) };
      if (!isGrantOf(grant, here)) throw ended();
      const time = now(clock);
      if (confirmation.isDue(grant, time)) {
        const identity = await providerTokens.identify(key);
        const update = (known: Grant) =>
          identity === undefined
            ? confirmation.doubt(known, time)
            : confirmation.confirm(known, identity, time);
        const updated = update(grant);
        if (mayHold(updated)) return await rotate(updated);
        // Its access token must not last until it expires.
        await grants.change(
          isFound(read.grant) ? read.grant : undefined,
          update,
        );
        throw ended();
      }
      if (!mayHold(grant)) throw ended();
      return await providerTokens.keep(key, (also) => rotate(grant, also));
    } catch (error) {
      throw error instanceof ChallengeError ? ended(error) : error;
    }
  }

  /**
   * Issues an access token without a refresh token: the client asks again
   * instead.
   */
  async function issueWithout(
    grant: Grant,
    { using, usingAgain }: Partial<AssertedGrant> = {},
  ): Promise<IssuedTokens> {
    const { scopes, expiresAt } = grant;
    for (let also = using;;) {
      const accessToken = await accessTokens.issue(grant, also);
      if (accessToken !== undefined) return { accessToken, scopes, expiresAt };
      also = await usingAgain?.();
      if (!also) throw badAssertion("The assertion was used before");
    }
  }

  /** Issues a token to a machine (RFC 6749 §4.4). */
  async function issueToMachine(
    client: Client,
    requested: readonly string[],
  ): Promise<IssuedTokens> {
    if (!isMachine(client)) {
      throw new OAuthError(
        "unauthorized_client",
        "client_credentials is for clients that the operator set up for it",
      );
    }
    const { clientId, metadata } = client;
    const grant = openClientGrant({
      clientId,
      clientName: clientName(client),
      scopes: narrowScopes(requested, parseScope(metadata.scope)),
      issuer: baseUrl,
      resource: resourceOf(baseUrl),
      now: now(clock),
    });
    return await issueWithout(grant);
  }

  /** Begins to read the presented code or token together with its client. */
  function readAhead(parameters: Parameters): Ahead {
    const ahead: Ahead = {};
    const code = parameters.get("code");
    const refreshToken = parameters.get("refresh_token");
    if (code !== undefined) ahead.code = codes.read(code);
    else if (refreshToken !== undefined) {
      ahead.refreshToken = refreshTokens.read(refreshToken);
    }
    // A failure is reported to the code that awaits it, if any does.
    ahead.code?.catch(() => {});
    ahead.refreshToken?.catch(() => {});
    return ahead;
  }

  async function issue(
    c: Context,
    client: Client,
    parameters: Parameters,
    ahead: Ahead,
  ): Promise<IssuedTokens> {
    const { clientId, metadata } = client;
    const request = parseTokenRequest(parameters, {
      baseUrl,
      takesAssertions: grantByAssertion !== undefined,
    });
    c.set("grantType", request.grantType);
    switch (request.grantType) {
      case "refresh_token":
        return await refresh({
          ...request,
          clientId,
          reading: ahead.refreshToken,
        });
      case "client_credentials":
        return await issueToMachine(client, request.scopes);
      case JWT_BEARER_GRANT_TYPE: {
        const { method } = parseClientCredentials(
          c.req.raw.headers.get("authorization"),
          parameters,
        );
        const isProven = method !== "none";
        const asserted = await grantByAssertion!(request, client, isProven);
        const { grant } = asserted;
        const tokens = await issueWithout(grant, asserted);
        log.audit("Signed in by an assertion", {
          reference: c.get("reference"),
          clientId: shortClientId(clientId),
          client: grant.clientName,
          subject: grant.subject,
          grantId: grant.id,
        });
        return tokens;
      }
    }
    return await codes.use({
      ...request,
      clientId,
      mayHold,
      reading: ahead.code,
      refreshable: metadata.grant_types.includes("refresh_token"),
    });
  }

  return async function token(c) {
    c.header("Cache-Control", "no-store");
    await checkRate(c);
    const { headers } = c.req.raw;
    const parameters = await readParameters(c.req.raw);
    const ahead = readAhead(parameters);
    return await clients.authenticate(
      { headers, parameters },
      async (client) => {
        c.set("client", clientName(client));
        c.set("clientId", shortClientId(client.clientId));
        // Nothing after this may fail: it cannot be done twice.
        const tokens = await issue(c, client, parameters, ahead);
        c.set("grantId", parseCredential(tokens.accessToken)?.grantId);
        waiveRate(c);
        await tidy(() => clients.keep(client));
        if (client.isConfigured) clientUses.touch(client.clientId);
        return c.json(printTokenResponse(tokens, now(clock)));
      },
    );
  };
}

function ended(cause?: unknown): OAuthError {
  return new OAuthError("invalid_grant", "The sign-in has ended", { cause });
}
