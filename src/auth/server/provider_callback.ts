/**
 * `GET /oauth/provider-callback`: the person returns from the provider. The
 * provider's tokens are sealed here and the client gets a code of ours.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { OAuthError } from "../../errors.ts";
import {
  type AuthorizationResponse,
  authorizationResponseUrl,
} from "../rules/authorization_response.ts";
import { shortClientId } from "../rules/client_id.ts";
import type { Grant } from "../rules/grant.ts";
import { Parameters } from "../rules/parameters.ts";
import { grantOfSignIn } from "../rules/sign_in_grant.ts";
import { subjectOf } from "../rules/subject.ts";
import { persist } from "../../store/persist.ts";
import type {
  FoundRequest,
  SignInOutcome,
} from "../../store/authorization_requests.ts";
import type { Write } from "../../store/transaction.ts";
import { now } from "../../clock.ts";
import { type Provider, UpstreamError } from "../provider/provider.ts";
import { refusalOf } from "../provider/upstream_error.ts";
import {
  providerUnavailable,
  signInInterrupted,
} from "../provider/unavailable.ts";
import {
  findOwnRequest,
  finishedAlready,
  leftElsewhere,
  notApproved,
} from "./own_request.ts";
import { redirect } from "../../http/redirect.ts";
import { upstreamSecrets } from "../grants/upstream_secrets.ts";
import type { LimitedServices } from "./services.ts";

/**
 * The time for which storing the outcome is tried while a person waits: the
 * provider's code cannot be redeemed again.
 */
const COMPLETE_MILLISECONDS = 15_000;

/** Finishes a sign-in. */
export function providerCallbackEndpoint(
  {
    baseUrl,
    provider,
    approvals,
    requests,
    waiveRate,
    clock,
    log,
    ...services
  }: LimitedServices,
): (c: Context) => Promise<Response> {
  const { providerId } = services;
  const denied = new OAuthError("access_denied", `${provider.name} refused`);
  const failed = new OAuthError(
    "server_error",
    `Signing in with ${provider.name} failed`,
  );

  function answer(
    c: Context,
    { value: { request } }: FoundRequest,
    response: AuthorizationResponse,
  ): Response {
    return redirect(c, authorizationResponseUrl(request, response, baseUrl));
  }

  /** Ends the request, and tells its client why. */
  async function refuse(
    c: Context,
    found: FoundRequest,
    { code, description }: Pick<OAuthError, "code" | "description">,
    facts: Record<string, unknown> = {},
  ): Promise<Response> {
    const { request, clientName } = found.value;
    log.warning("Sign-in failed", {
      reference: c.get("reference"),
      clientId: shortClientId(request.clientId),
      client: clientName,
      refusal: description,
      ...facts,
    });
    if (!await requests.finish(found)) throw finishedAlready();
    return answer(c, found, { error: code, error_description: description });
  }

  /**
   * Makes the write that records an approval. It is not stored before the
   * person has signed in: anyone can press a button, and the record is kept for
   * months.
   */
  async function approvalOf(
    { value: { request, consented } }: FoundRequest,
    browser: string,
  ): Promise<Write | undefined> {
    // For a client that needs no consent, nothing was approved.
    if (!consented) return undefined;
    const approved = { ...request, scopes: consented };
    return await approvals.add(browser, approved, request.scopes);
  }

  async function complete(
    leased: FoundRequest,
    outcome: SignInOutcome,
  ): Promise<string | undefined> {
    try {
      return await persist(
        () => requests.complete(leased, outcome),
        { forMilliseconds: COMPLETE_MILLISECONDS },
      );
    } catch (error) {
      throw signInInterrupted(error);
    }
  }

  /** Finds the code if a try to complete was given up and applied later. */
  async function completedAlready(
    { handle }: FoundRequest,
    browser: string,
  ): Promise<string | undefined> {
    const found = await requests.find(handle, browser);
    return found && await requests.answerAgain(found);
  }

  return async function providerCallback(c) {
    // The request that this browser began.
    const parameters = new Parameters(new URL(c.req.url).searchParams);
    const handle = parameters.require("state");
    const { found, browser } = await findOwnRequest(c, handle, {
      baseUrl,
      requests,
    });
    const { phase, provider: from = providerId } = found.value;
    if (phase === "done") {
      // This page was answered with 503 a moment ago.
      const code = await requests.answerAgain(found);
      if (code === undefined) throw finishedAlready(found);
      waiveRate(c);
      return answer(c, found, { code });
    }
    if (phase === "consent") throw notApproved();
    // Its answer is no other provider's business.
    if (from !== providerId) throw leftElsewhere();

    // The provider's answer, which may be another's (RFC 9207 §2.4).
    const error = parameters.get("error");
    const issuer = parameters.get("iss");
    if (error !== undefined) {
      const other = await refusalOf(() => provider.checkIssuer?.(issuer));
      if (other) return await refuse(c, found, failed, { error: other });
    }
    if (error === "access_denied") return await refuse(c, found, denied);
    if (error !== undefined) {
      const { description } = failed;
      const code = error === "temporarily_unavailable" ? error : failed.code;
      return await refuse(c, found, { code, description }, {
        // Only a code in the form of the standard; a stranger can put anything
        // here.
        providerError: /^\w{1,40}$/.test(error) ? error : "unreadable",
      });
    }
    const providerCode = parameters.require("code");

    // The lease: one request at a time may redeem the provider's code.
    const [leasing, approving] = await Promise.allSettled([
      requests.lease(found),
      approvalOf(found, browser),
    ]);
    if (leasing.status === "rejected") throw leasing.reason;
    const leased = leasing.value;
    if (!leased) throw finishedAlready(found);
    if (approving.status === "rejected") {
      // The provider's code is good once: not while the database is away.
      await requests.release(leased);
      throw approving.reason;
    }

    // The person, and their tokens at the provider.
    let signedIn: Awaited<ReturnType<Provider["redeem"]>>;
    try {
      signedIn = await provider.redeem({
        code: providerCode,
        ...upstreamSecrets(handle, browser),
        redirectUri: `${baseUrl}/oauth/provider-callback`,
        issuer,
      });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const { kind, isCodeSpent } = error;
      if (kind === "denied") return await refuse(c, leased, denied);
      if (kind !== "unavailable") {
        return await refuse(c, leased, failed, { error });
      }
      if (isCodeSpent) throw signInInterrupted(error);
      // Loading the page again may work: the provider's code has not been used.
      await requests.release(leased);
      throw providerUnavailable(provider.name, error);
    }

    // The operator's rules of today.
    const { tokens, identity } = signedIn;
    let grant: Grant;
    try {
      grant = grantOfSignIn(identity, leased.value, services, {
        issuer: baseUrl,
        now: now(clock),
      });
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const subject = subjectOf(providerId, identity);
      return await refuse(c, leased, error, { subject });
    }

    // The grant and its code, in one commit with the approval.
    const outcome = { grant, upstreamTokens: JSON.stringify(tokens) };
    const approval = approving.value;
    const code = await complete(leased, { ...outcome, also: approval }) ??
      // Unless the lease has expired, this browser has approved more meanwhile.
      (approval && await complete(leased, {
        ...outcome,
        also: await persist(
          () => approvalOf(leased, browser),
          { forMilliseconds: COMPLETE_MILLISECONDS },
        ),
      })) ??
      await completedAlready(leased, browser);
    if (code === undefined) throw finishedAlready();
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
