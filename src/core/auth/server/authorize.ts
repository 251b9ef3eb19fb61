/**
 * `GET /authorize`: checks a client's authorization request and shows the
 * consent page. Consent comes before the sign-in at the provider: otherwise a
 * client could use the session that the person already has at the provider.
 * Only a client that the operator trusts skips consent.
 * @see RFC 6749 §4.1.1, RFC 9700 §4.11 and §4.15
 * @module
 */
import type { Context } from "@hono/hono";
import { now } from "../../clock.ts";
import { OAuthError } from "../../errors.ts";
import {
  checkRedirectHosts,
  isTrustedWithErrors,
  skipsConsent,
} from "../../oauth/client_policy.ts";
import {
  type AuthorizationRequest,
  authorizationResponseUrl,
  parseAuthorizationRequest,
  parsePrompts,
  parseRedirectUri,
} from "../../oauth/authorization_request.ts";
import { type Client, clientName, shortClientId } from "../../oauth/client.ts";
import { isAboutClient, refusedByBlock } from "../../oauth/allowed_users.ts";
import { Parameters } from "../../oauth/parameters.ts";
import { resourceOf } from "../../oauth/resource.ts";
import { parseScope, scopesWithin, unionOfScopes } from "../../oauth/scope.ts";
import { scopesAt } from "../../oauth/connection.ts";
import { personName } from "../../oauth/person.ts";
import type { Consent } from "../../store/consents.ts";
import { ConsentPage } from "../../pages/consent_page.tsx";
import { page } from "../../pages/respond.ts";
import { titleOf } from "../../../authoring/account.ts";
import { networkOf } from "../../http/client_address.ts";
import {
  browserCookieOf,
  keepBrowserCookie,
  redirect,
} from "../../http/browser.ts";
import { askProvider } from "../../provider/unavailable.ts";
import { authorizationUrlOf } from "../grants/provider_choice.ts";
import type { AuthServices } from "../services.ts";
import type { SignedInPages } from "./signed_in_pages.ts";

export function authorizeEndpoint(
  services: AuthServices,
  pages: SignedInPages | undefined,
): (c: Context) => Promise<Response> {
  const { baseUrl, frame, inWords, providers, choice } = services;
  const { clients, consents, connections, requests } = services;
  const { scopes: known, lifetimes, policy, blocked } = services;
  const { clock, log } = services;

  async function findClient(c: Context, clientId: string): Promise<Client> {
    try {
      return await clients.find(clientId, { network: networkOf(c) });
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const { code, description, cause } = error;
      if (code !== "invalid_client") throw error;
      // Not 401, because the client has not tried to authenticate here.
      throw new OAuthError(code, description, { cause, status: 400 });
    }
  }

  /**
   * Finds the scopes that were approved for a client in this browser before.
   */
  async function findApproved(
    c: Context,
    { clientId, redirectUri }: { clientId: string; redirectUri?: string },
  ): Promise<Consent | undefined> {
    const browser = browserCookieOf(c, baseUrl);
    if (browser === undefined || redirectUri === undefined) return undefined;
    const resource = resourceOf(baseUrl);
    return await consents.find(browser, { clientId, redirectUri, resource });
  }

  /** Makes the URL of the error response to a request that cannot be parsed. */
  function errorUrl(
    error: OAuthError,
    { redirectUri, query }: {
      redirectUri: string;
      query: readonly [string, string][];
    },
  ): string {
    const states = query.filter(([name]) => name === "state");
    // With two `state` parameters, it is unclear which is the client's: none
    // is returned.
    const state = states.length === 1 ? states[0][1] : undefined;
    const redirect = { redirectUri, state: state || undefined };
    return authorizationResponseUrl(redirect, { error }, baseUrl);
  }

  return async function authorize(c) {
    // First the client, and at the same time what was approved for it
    // before.
    const query = [...new URL(c.req.url).searchParams];
    const target = new Parameters(
      query.filter(([name]) => name === "client_id" || name === "redirect_uri"),
    );
    const clientId = target.require("client_id");
    const approving = findApproved(c, {
      clientId,
      redirectUri: target.get("redirect_uri"),
    });
    approving.catch(() => {});
    const client = await findClient(c, clientId);
    c.set("client", clientName(client));
    c.set("clientId", shortClientId(client.clientId));
    if (blocked.some((entry) => isAboutClient(entry, client.clientId))) {
      throw refusedByBlock();
    }

    // Then its redirect URI.
    const redirectUri = parseRedirectUri(target, client);
    // Checked again, because the operator's rule about redirect hosts may be
    // newer than the client's registration or metadata document.
    if (!client.isConfigured) checkRedirectHosts([redirectUri], policy);
    const browser = keepBrowserCookie(c, baseUrl);
    const approved = target.get("redirect_uri") === undefined
      ? await findApproved(c, { clientId, redirectUri })
      : await approving;

    // Then the request. An error is sent to the client (RFC 6749 §4.1.2.1).
    // Before that the person sees a page, unless the redirect URI is trusted by
    // the operator or was approved in this browser before.
    let parameters: Parameters;
    let request: AuthorizationRequest;
    try {
      parameters = new Parameters(query);
      request = parseAuthorizationRequest(parameters, {
        client,
        baseUrl,
        scopes: known,
      });
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const url = errorUrl(error, { redirectUri, query });
      if (approved || isTrustedWithErrors(client, redirectUri, policy)) {
        return redirect(c, url);
      }
      const { code, description, situation } = error;
      throw new OAuthError(code, description, { situation, responseUrl: url });
    }

    // Then the scopes. A step-up, a request for one more scope, keeps the
    // scopes approved before. A scope that the person has revoked is offered
    // only if the request names it. `connection` belongs to the person who is
    // signed in to the account page. Another person may sign in next, so the
    // scopes are computed again after the sign-in.
    const session = await pages?.find(c);
    const connection = session &&
      await connections.read({ subject: session.subject, clientId });
    const { state, open } = connection ?? { state: {}, open: [] };
    const scopesBefore = unionOfScopes(
      approved?.scopes ?? [],
      scopesAt(open, { redirectUri, lifetimes, now: now(clock) }),
    );
    const revokedBefore = unionOfScopes(
      approved?.revokedScopes ?? [],
      state.revokedScopes ?? [],
    );
    const named = parseScope(parameters.get("scope"));
    const scopes = unionOfScopes(
      request.scopes,
      scopesBefore.filter((scope) => known.supported.includes(scope)),
    ).filter((scope) =>
      named.includes(scope) || !revokedBefore.includes(scope)
    );
    const revokedScopes = scopes.filter((scope) =>
      revokedBefore.includes(scope)
    );

    // A client that the operator trusts skips consent, unless its request has
    // `prompt=consent`.
    const pending = {
      request: { ...request, scopes },
      clientName: clientName(client),
      named: scopes.filter((scope) => named.includes(scope)),
      ...revokedScopes.length > 0 && { revokedScopes },
    };
    const isAskedFor = parsePrompts(parameters).includes("consent");
    if (skipsConsent(client, redirectUri, policy) && !isAskedFor) {
      const { providerHints } = request;
      const chosen = choice.find({ providerHints });
      if (!chosen) {
        const trusted = { ...pending, isTrusted: true };
        return choice.ask(c, [
          ["request", await requests.save(browser, trusted)],
        ]);
      }
      const handle = await requests.save(browser, pending, chosen.id);
      const url = await askProvider(
        chosen.provider,
        () => authorizationUrlOf(chosen, { handle, browser, providerHints }),
      );
      log.info("Sent to the provider without the consent page", {
        reference: c.get("reference"),
        clientId: client.clientId,
      });
      return redirect(c, url.href);
    }

    // Any other client gets the consent page.
    const handle = await requests.save(browser, pending);
    const reached = services.servicesWithin(scopes)
      .filter(({ kind }) => kind !== "openMcpServer");
    const own = session && reached.length > 0
      ? await pages!.accountsOf(session.subject)
      : [];
    return page(
      c,
      ConsentPage({
        ...frame,
        host: new URL(baseUrl).host,
        client,
        redirectUri,
        providerName: (choice.find(request)?.provider ?? providers).name,
        lifetimes,
        person: session && personName(session),
        accounts: reached.map((service) => ({
          title: titleOf(service),
          isUpstream: service.kind === "upstreamAccount",
          since: own.filter((account) => account.service === service.name)
            .map(({ createdAt }) => createdAt).sort((a, b) => a - b).at(0),
        })),
        tools: services.toolsWithin(
          scopesWithin(
            scopes,
            session && services.permissions?.ceiling(session),
          ),
        ),
        scopes: inWords(scopes).map((words) => ({
          ...words,
          ...revokedScopes.includes(words.scope) && { isRevoked: true },
        })),
        fields: { request: handle },
        action: `${frame.base}/authorize`,
      }),
      { forms: "any" },
    );
  };
}
