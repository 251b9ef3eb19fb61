/**
 * `GET /oauth/provider-callback`: receives the provider's authorization
 * response, checks its `iss` (RFC 9207), redeems its code, and sends the client
 * an authorization code of this server.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { HttpError, OAuthError } from "../../errors.ts";
import {
  type AuthorizationResponse,
  authorizationResponseUrl,
} from "../../oauth/authorization_request.ts";
import { shortClientId } from "../../oauth/client.ts";
import { invalidRequest, Parameters } from "../../oauth/parameters.ts";
import { subjectOf } from "../../oauth/subject.ts";
import type { FoundRequest } from "../../store/authorization_requests.ts";
import {
  errorOfCheck,
  type Provider,
  UpstreamError,
  type UpstreamResponse,
} from "../../provider/provider.ts";
import type { SignInProvider } from "../../provider/sign_in_providers.ts";
import {
  providerUnavailable,
  signInInterrupted,
} from "../../provider/unavailable.ts";
import { findBrowserRequest, requestAnswered } from "./browser_request.ts";
import { redirect } from "../../http/browser.ts";
import { waiveRate } from "../../http/rate_limit.ts";
import { verifierAndNonce } from "../grants/provider_choice.ts";
import type { AuthServices } from "../services.ts";
import { signInCompletion } from "./sign_in_completion.ts";

/** An error that ends a sign-in, with properties for the log. */
interface Refusal extends Pick<OAuthError, "code" | "description"> {
  situation?: OAuthError["situation"];
  facts?: Record<string, unknown>;
}

export function providerCallbackEndpoint(
  services: AuthServices,
): (c: Context) => Promise<Response> {
  const { baseUrl, providers, requests, log } = services;
  const complete = signInCompletion(services);

  function answer(
    c: Context,
    { value: { request } }: FoundRequest,
    response: AuthorizationResponse,
  ): Response {
    return redirect(c, authorizationResponseUrl(request, response, baseUrl));
  }

  /**
   * Ends the request and sends the error to the client. A blocked person gets
   * an error page instead.
   */
  async function refuse(
    c: Context,
    found: FoundRequest,
    { code, description, situation, facts }: Refusal,
  ): Promise<Response> {
    const { request, clientName } = found.value;
    log.warning("Sign-in failed", {
      reference: c.get("reference"),
      clientId: shortClientId(request.clientId),
      client: clientName,
      refusal: description,
      ...facts,
    });
    if (!await requests.finish(found)) throw requestAnswered();
    if (situation === "blocked") {
      throw new OAuthError(code, description, { situation });
    }
    return answer(c, found, { error: { code, description } });
  }

  /**
   * Refuses a response that another server sent in the provider's name. The
   * request stays open, because the provider's own response may still come (RFC
   * 9207 §2.4).
   */
  function refuseForeign(
    c: Context,
    { value: { request, clientName } }: FoundRequest,
    { name }: Provider,
    cause: UpstreamError,
  ): HttpError {
    log.warning("A response to a sign-in was not the provider's", {
      reference: c.get("reference"),
      clientId: shortClientId(request.clientId),
      client: clientName,
      error: cause,
    });
    const message = `This is not the answer of ${name}`;
    return new HttpError(400, message, { situation: "foreign answer" });
  }

  /** Parses an error response; undefined without `error`. */
  function refusalIn(
    parameters: Parameters,
    { provider }: SignInProvider,
  ): Refusal | undefined {
    const error = parameters.get("error");
    if (error === undefined) return undefined;
    const { code, description } = failedAt(provider);
    if (error === "access_denied") return deniedAt(provider);
    return {
      code: error === "temporarily_unavailable" ? error : code,
      description,
      // Logged only if it looks like an error code, because anyone may send
      // anything.
      facts: { providerError: /^\w{1,40}$/.test(error) ? error : "unreadable" },
    };
  }

  async function redeem(
    c: Context,
    leased: FoundRequest,
    { provider, redirectUri }: SignInProvider,
    response: Omit<UpstreamResponse, "redirectUri">,
  ): Promise<Awaited<ReturnType<Provider["redeem"]>> | Refusal> {
    try {
      return await provider.redeem({ ...response, redirectUri });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const { kind, isCodeSpent } = error;
      if (kind === "denied") return deniedAt(provider);
      // The code may belong to another sign-in. The request stays open only the
      // first time, because each try costs a request to the provider.
      if (kind === "dead" && !isCodeSpent && !leased.value.hasDeadCode) {
        await requests.release(leased, true);
        throw refuseForeign(c, leased, provider, error);
      }
      const { code, description } = failedAt(provider);
      if (kind !== "unavailable") {
        return { code, description, facts: { error } };
      }
      if (isCodeSpent) throw signInInterrupted(error);
      // The request stays open: the provider's code is unused, so reloading
      // the page may help.
      await requests.release(leased);
      throw providerUnavailable(provider.name, error);
    }
  }

  return async function providerCallback(c) {
    // First the authorization request, which must have begun in this
    // browser.
    const parameters = new Parameters(new URL(c.req.url).searchParams);
    const handle = parameters.require("state");
    const { found, browser } = await findBrowserRequest(c, handle, services);
    const { phase, provider: sentTo } = found.value;
    if (phase === "done") {
      // An earlier try may have succeeded, but got a 503 as its response.
      const code = await requests.replayCode(found);
      if (code === undefined) throw requestAnswered(found);
      waiveRate(c);
      return answer(c, found, { code });
    }
    if (phase === "consent") {
      throw invalidRequest("This sign-in was not approved", "not approved");
    }
    // The response must come from the provider to which the browser was
    // sent. Each provider has its own redirect URI, against mix-up attacks (RFC
    // 9700 §4.4.2.2).
    const from = providers.find(c.req.param("provider"));
    if (!from || from.id !== sentTo) {
      throw invalidRequest(
        "This sign-in began with another provider: start again in the app",
        "expired",
      );
    }

    // Then the provider's response.
    const { provider } = from;
    const issuer = parameters.get("iss");
    const other = await errorOfCheck(() => provider.checkIssuer?.(issuer));
    if (other) throw refuseForeign(c, found, provider, other);
    const refusal = refusalIn(parameters, from);
    if (refusal) return await refuse(c, found, refusal);
    const providerCode = parameters.require("code");

    // Then a lease, so that only one request redeems the provider's code.
    const leased = await requests.lease(found);
    if (!leased) throw requestAnswered(found);

    // Then the person and the provider's tokens.
    const signedIn = await redeem(c, leased, from, {
      code: providerCode,
      ...verifierAndNonce(handle, browser, from),
      issuer,
    });
    if (!("identity" in signedIn)) return await refuse(c, leased, signedIn);
    const { identity } = signedIn;

    // Then the grant and its code, if the present settings allow them.
    let completed: Awaited<ReturnType<typeof complete>>;
    try {
      completed = await complete(leased, {
        ...signedIn,
        providerId: from.id,
        browser,
        reference: c.get("reference"),
      });
    } catch (error) {
      const isRefusal = error instanceof OAuthError &&
        error.code === "access_denied";
      if (!isRefusal) throw error;
      const { code, description, situation } = error;
      const facts = { subject: subjectOf(from.id, identity) };
      return await refuse(c, leased, { code, description, situation, facts });
    }
    const { grant, code } = completed;
    waiveRate(c);
    log.audit("Signed in", {
      reference: c.get("reference"),
      clientId: shortClientId(grant.clientId),
      client: grant.clientName,
      subject: grant.subject,
      grantId: grant.id,
    });
    return answer(c, leased, { code });
  };
}

function deniedAt({ name }: Provider): OAuthError {
  return new OAuthError("access_denied", `${name} refused`);
}

function failedAt({ name }: Provider): OAuthError {
  return new OAuthError("server_error", `Signing in with ${name} failed`);
}
