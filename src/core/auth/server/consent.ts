/**
 * `POST /authorize`: the person's decision on the consent page.
 *
 * @module
 */
import {
  invalidRequest,
  type Parameters as Form,
} from "../../oauth/parameters.ts";
import type { Context } from "@hono/hono";
import type { OAuthError } from "../../errors.ts";
import { shortClientId } from "../../oauth/client.ts";
import { authorizationResponseUrl } from "../../oauth/authorization_request.ts";
import { OFFLINE_ACCESS, opensNoTool } from "../../oauth/scope.ts";
import { BOXES_FIELD } from "../../pages/scope_boxes.tsx";
import type { FoundRequest } from "../../store/authorization_requests.ts";
import { readParameters } from "../../http/body.ts";
import { findBrowserRequest } from "./browser_request.ts";
import { askProvider } from "../../provider/unavailable.ts";
import { authorizationUrlOf } from "../grants/provider_choice.ts";
import { checkSameSite, redirect } from "../../http/browser.ts";
import type { AuthServices } from "../services.ts";

/**
 * Makes the endpoint. It redirects the browser to the provider, or back to the
 * client if the person refuses.
 */
export function consentEndpoint(
  services: AuthServices,
): (c: Context) => Promise<Response> {
  const { baseUrl, choice, requests, log } = services;

  async function deny(c: Context, found: FoundRequest): Promise<Response> {
    if (!await requests.finish(found)) throw answeredAlready();
    const { request, clientName } = found.value;
    log.audit("Consent denied", {
      reference: c.get("reference"),
      clientId: shortClientId(request.clientId),
      client: clientName,
    });
    return redirect(
      c,
      authorizationResponseUrl(request, {
        error: { code: "access_denied", description: "The person said no" },
      }, baseUrl),
    );
  }

  /**
   * Stores the scopes that the person approved. If they answer twice, the last
   * answer counts.
   */
  async function keepConsent(
    c: Context,
    found: FoundRequest,
    consent: Parameters<typeof requests.approve>[1],
  ): Promise<void> {
    for (;;) {
      if (await requests.approve(found, consent)) return;
      // The person clicked twice, or the provider has already redirected
      // back.
      ({ found } = await findBrowserRequest(c, found.handle, services));
      if (found.value.phase === "done") throw answeredAlready();
    }
  }

  return async function consent(c) {
    // Only this server's page may send this form. The handle and the cookie
    // would protect the request anyway.
    checkSameSite(c.req.raw, baseUrl);
    const form = await readParameters(c, ["resource", "scope"]);
    const handle = form.require("request");
    const { found, browser } = await findBrowserRequest(c, handle, services);
    const { phase, request: { scopes: asked, providerHints }, revokedScopes } =
      found.value;
    if (phase === "done") throw answeredAlready();

    // First the decision. The page for choosing a provider comes after it,
    // and sends its form here, too.
    const key = form.get("provider");
    const decision = form.get("decision") ?? (key && "approve");
    if (decision !== "approve" && decision !== "deny") {
      throw invalidRequest("decision must be approve or deny");
    }
    const scopes = chosenScopes(asked, form, revokedScopes);
    const isEmptied = opensNoTool(scopes) && !opensNoTool(asked);
    if (decision === "deny" || isEmptied) return await deny(c, found);

    // Then the provider that the person chose, or the only one.
    const chosen = choice.find({ key, providerHints });
    if (!chosen) {
      // Nothing is stored yet: the next form has the approved scopes in
      // hidden fields.
      return choice.ask(c, [
        ["request", handle],
        [BOXES_FIELD, "1"],
        ...scopes.map((scope) => ["scope", scope] as const),
      ]);
    }
    // Then the provider's URL, before anything is written: if the provider
    // cannot be reached, the person can click again.
    const url = await askProvider(
      chosen.provider,
      () => authorizationUrlOf(chosen, { handle, browser, providerHints }),
    );
    await keepConsent(c, found, { consented: scopes, provider: chosen.id });
    choice.remember(c, chosen);
    return redirect(c, url.href);
  };
}

/**
 * Returns the scopes that a person left checked. Some programs send only the
 * hidden fields, without checkboxes. Such a form approves all requested scopes
 * except those that the person revoked before.
 */
function chosenScopes(
  asked: readonly string[],
  parameters: Form,
  revokedScopes: readonly string[] = [],
): readonly string[] {
  const ticked = parameters.all("scope");
  const hasBoxes = parameters.get(BOXES_FIELD) !== undefined ||
    ticked.length > 0;
  if (!hasBoxes) return asked.filter((scope) => !revokedScopes.includes(scope));
  return asked.filter((scope) =>
    scope === OFFLINE_ACCESS || ticked.includes(scope)
  );
}

function answeredAlready(): OAuthError {
  return invalidRequest("This sign-in has been answered already", "answered");
}
