/**
 * `GET /oauth/provider-callback`: the person returns from the provider. The
 * provider's tokens are sealed here and the client gets a code of ours.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Identity } from "../../caller.ts";
import { OAuthError, type OAuthErrorCode } from "../../errors.ts";
import type { Logger } from "../../log/log.ts";
import {
  type AuthorizationResponse,
  authorizationResponseUrl,
} from "../rules/authorization_response.ts";
import { shortClientId } from "../rules/client_id.ts";
import { openGrant } from "../rules/grant.ts";
import { Parameters } from "../rules/parameters.ts";
import { type Permissions, withoutMemberships } from "../rules/permissions.ts";
import { cutScopes, opensNothing } from "../rules/scope.ts";
import { isSubjectOfOther, subjectOf } from "../rules/subject.ts";
import type { ApprovalStore } from "../../store/approvals.ts";
import { persist } from "../../store/persist.ts";
import type {
  AuthorizationRequestStore,
  FoundRequest,
  SignInOutcome,
} from "../../store/authorization_requests.ts";
import type { Write } from "../../store/transaction.ts";
import { type Clock, now } from "../../clock.ts";
import { isAllowed } from "../rules/allowed_users.ts";
import {
  type Provider,
  UpstreamError,
  type UpstreamTokens,
} from "../provider/provider.ts";
import {
  providerUnavailable,
  signInInterrupted,
} from "../provider/unavailable.ts";
import { findOwnRequest } from "./own_request.ts";
import type { WaiveRate } from "../../http/rate_limit.ts";
import { redirect } from "../../http/redirect.ts";
import { upstreamSecrets } from "../grants/upstream_secrets.ts";

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
    providerId,
    otherIds,
    allowedUsers,
    permissions,
    approvals,
    requests,
    waiveRate,
    clock,
    log,
  }: {
    baseUrl: string;
    provider: Provider;
    /** The prefix that keeps the provider's subjects apart from another's. */
    providerId: string;
    /** The prefixes of other issuers' subjects. */
    otherIds: readonly string[];
    /** People who may sign in; empty: everyone. */
    allowedUsers: readonly string[];
    permissions?: Permissions;
    approvals: ApprovalStore;
    requests: AuthorizationRequestStore;
    waiveRate: WaiveRate;
    clock: Clock;
    log: Logger;
  },
): (c: Context) => Promise<Response> {
  function answer(
    c: Context,
    { value: { request } }: FoundRequest,
    response: AuthorizationResponse,
  ): Response {
    return redirect(c, authorizationResponseUrl(request, response, baseUrl));
  }

  async function refuse(
    c: Context,
    found: FoundRequest,
    error: OAuthErrorCode,
    description: string,
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
    return answer(c, found, { error, error_description: description });
  }

  async function redeem(
    c: Context,
    leased: FoundRequest,
    { code, issuer, browser, approval }: {
      code: string;
      issuer: string | undefined;
      browser: string;
      /** Records the approval; undefined if nothing was approved. */
      approval: Write | undefined;
    },
  ): Promise<Response> {
    let signedIn: { tokens: UpstreamTokens; identity: Identity };
    try {
      signedIn = await provider.redeem({
        code,
        ...upstreamSecrets(leased.handle, browser),
        redirectUri: `${baseUrl}/oauth/provider-callback`,
        issuer,
      });
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === "denied") {
        return await refuse(
          c,
          leased,
          "access_denied",
          `${provider.name} refused`,
        );
      }
      if (error instanceof UpstreamError && error.kind !== "unavailable") {
        return await refuse(
          c,
          leased,
          "server_error",
          `Signing in with ${provider.name} failed`,
          { error },
        );
      }
      if (!(error instanceof UpstreamError)) throw error;
      if (error.isCodeSpent) throw signInInterrupted(error);
      // Loading the page again may work: the provider's code has not been used.
      await requests.release(leased);
      throw providerUnavailable(provider.name, error);
    }
    const { tokens, identity } = signedIn;
    // A rule about a person of another issuer must not match one of this
    // provider.
    const isTakenForOther = isSubjectOfOther(identity.subject, otherIds);
    const subject = subjectOf(providerId, identity);
    if (isTakenForOther || !isAllowed({ subject, identity }, allowedUsers)) {
      return await refuse(
        c,
        leased,
        "access_denied",
        "This account may not sign in here",
        { subject },
      );
    }
    const { request, clientName, consented = request.scopes } = leased.value;
    const kept = permissions?.keep(identity) ?? withoutMemberships(identity);
    const ceiling = permissions?.ceiling({ subject, identity: kept });
    const scopes = cutScopes(consented, ceiling);
    if (opensNothing(scopes) && !opensNothing(consented)) {
      return await refuse(
        c,
        leased,
        "access_denied",
        "This account may not have what the app asked for here: " +
          "ask the people who run this server",
        { subject },
      );
    }
    const grant = openGrant(request, {
      issuer: baseUrl,
      provider: providerId,
      identity: kept,
      clientName,
      scopes,
      now: now(clock),
    });
    const outcome = { grant, upstreamTokens: JSON.stringify(tokens) };
    const ours = await complete(leased, { ...outcome, also: approval }) ??
      // Unless the lease has expired, this browser has approved more meanwhile.
      (approval && await complete(leased, {
        ...outcome,
        also: await persist(
          () => approvalOf(leased, browser),
          { forMilliseconds: COMPLETE_MILLISECONDS },
        ),
      })) ??
      await completedAlready(leased, browser);
    if (ours === undefined) throw finishedAlready();
    waiveRate(c);
    log.audit("Signed in", {
      reference: c.get("reference"),
      clientId: shortClientId(request.clientId),
      client: clientName,
      subject: grant.subject,
      grantId: grant.id,
    });
    return answer(c, leased, { code: ours });
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
    const parameters = new Parameters(new URL(c.req.url).searchParams);
    const handle = parameters.require("state");
    const { found, browser } = await findOwnRequest(c, handle, {
      baseUrl,
      requests,
    });
    switch (found.value.phase) {
      case "done": {
        // This page was answered with 503 a moment ago.
        const code = await requests.answerAgain(found);
        if (code === undefined) throw finishedAlready(found);
        waiveRate(c);
        return answer(c, found, { code });
      }
      case "consent":
        throw new OAuthError(
          "invalid_request",
          "This sign-in was not approved",
          { situation: "not approved" },
        );
    }
    const { provider: from = providerId } = found.value;
    // Its answer is no other provider's business.
    if (from !== providerId) throw leftElsewhere();
    const error = parameters.get("error");
    if (error === "access_denied") {
      return await refuse(c, found, error, `${provider.name} refused`);
    }
    if (error !== undefined) {
      return await refuse(
        c,
        found,
        error === "temporarily_unavailable" ? error : "server_error",
        `Signing in with ${provider.name} failed`,
        // Only a code in the form of the standard; a stranger can put anything
        // here.
        { providerError: /^\w{1,40}$/.test(error) ? error : "unreadable" },
      );
    }
    const code = parameters.require("code");
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
    const approval = approving.value;
    const issuer = parameters.get("iss");
    return await redeem(c, leased, { code, issuer, browser, approval });
  };
}

/** The operator turned to another provider while the person was at the old one. */
function leftElsewhere(): OAuthError {
  return new OAuthError(
    "invalid_request",
    "This sign-in began with another provider: start again in the app",
    { situation: "expired" },
  );
}

function finishedAlready(found?: FoundRequest): OAuthError {
  return new OAuthError(
    "invalid_request",
    "This sign-in has finished, or another window is finishing it",
    { situation: found?.value.isSignedIn ? "signed in" : "finished" },
  );
}
