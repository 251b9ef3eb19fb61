/**
 * `GET /oauth/provider-callback`: the person returns from the provider. The
 * provider's tokens are sealed here and the client gets a code of ours.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Identity } from "../../caller.ts";
import { OAuthError } from "../../errors.ts";
import {
  type AuthorizationResponse,
  authorizationResponseUrl,
} from "../rules/authorization_response.ts";
import { shortClientId } from "../rules/client_id.ts";
import type { Grant } from "../rules/grant.ts";
import { Parameters } from "../rules/parameters.ts";
import { leastUsed, scopesAt, scopesOfSignIn } from "../rules/connection.ts";
import { AUTHORIZATION_REQUEST_TTL_SECONDS } from "../rules/lifetimes.ts";
import { grantOfSignIn } from "../rules/sign_in_grant.ts";
import { subjectOf } from "../rules/subject.ts";
import { persist } from "../../store/persist.ts";
import type { FoundRequest } from "../../store/authorization_requests.ts";
import type { Connection, ConnectionState } from "../../store/connections.ts";
import type { Write } from "../../store/transaction.ts";
import { now } from "../../clock.ts";
import { type Provider, UpstreamError } from "../provider/provider.ts";
import type { SignInProvider } from "../provider/sign_in_providers.ts";
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

/** The most sign-ins and changes of one connection that may come first. */
const MOST_TRIES = 50;

/** Finishes a sign-in. */
export function providerCallbackEndpoint(
  {
    baseUrl,
    providers,
    approvals,
    connections,
    endGrants,
    requests,
    waiveRate,
    clock,
    log,
    ...services
  }: LimitedServices,
): (c: Context) => Promise<Response> {
  function answer(
    c: Context,
    { value: { request } }: FoundRequest,
    response: AuthorizationResponse,
  ): Response {
    return redirect(c, authorizationResponseUrl(request, response, baseUrl));
  }

  /** Ends the request, and tells the log why. */
  async function end(
    c: Context,
    found: FoundRequest,
    description: string,
    facts: Record<string, unknown>,
  ): Promise<void> {
    const { request, clientName } = found.value;
    log.warning("Sign-in failed", {
      reference: c.get("reference"),
      clientId: shortClientId(request.clientId),
      client: clientName,
      refusal: description,
      ...facts,
    });
    if (!await requests.finish(found)) throw finishedAlready();
  }

  /** Ends the request, and tells its client why. */
  async function refuse(
    c: Context,
    found: FoundRequest,
    { code, description }: Pick<OAuthError, "code" | "description">,
    facts: Record<string, unknown> = {},
  ): Promise<Response> {
    await end(c, found, description, facts);
    return answer(c, found, { error: code, error_description: description });
  }

  /** Ends the request, and tells its person on a page of ours. */
  async function refuseBlocked(
    c: Context,
    found: FoundRequest,
    refusal: OAuthError,
    { subject }: { subject: string },
  ): Promise<never> {
    await end(c, found, refusal.description, { subject });
    throw refusal;
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

  /** Keeps trying while a person waits. */
  async function untilStored<T>(store: () => Promise<T>): Promise<T> {
    try {
      return await persist(store, { forMilliseconds: COMPLETE_MILLISECONDS });
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      throw signInInterrupted(error);
    }
  }

  /**
   * Makes the grant of a person by the operator's rules of today, in their
   * connection with the client.
   *
   * @throws {OAuthError} `access_denied`
   */
  function joined(
    identity: Identity,
    { id: providerId }: SignInProvider,
    { value: record }: FoundRequest,
    { state: { pausedAt, withheld = [], withheldAt = 0 }, open }: Connection,
  ): { grant: Grant; state: ConnectionState } {
    const { request, consented = request.scopes, named = request.scopes } =
      record;
    const beganAt = record.expiresAt - AUTHORIZATION_REQUEST_TTL_SECONDS;
    const { redirectUri, scopes: offered } = request;
    const scopes = scopesOfSignIn(
      { approved: consented, offered, named, redirectUri },
      {
        had: scopesAt(open, {
          redirectUri,
          lifetimes: services.lifetimes,
          now: now(clock),
        }).filter((scope) => services.scopes.supported.includes(scope)),
        withheld,
        isOlder: withheldAt > beganAt,
      },
    );
    const grant = grantOfSignIn(
      identity,
      { ...record, providerId, consented: scopes },
      services,
      { issuer: baseUrl, now: now(clock) },
    );
    const isPaused = pausedAt !== undefined && open.length > 0;
    return {
      grant: {
        ...grant,
        browserFingerprint: record.browserFingerprint,
        ...isPaused && { pausedAt },
      },
      state: {
        pausedAt: isPaused ? pausedAt : undefined,
        withheld: withheld.filter((it) => !grant.scopes.includes(it)),
        withheldAt,
      },
    };
  }

  /** Ends the sign-ins of a connection that one more leaves no room for. */
  async function makeRoom(c: Context, { open }: Connection): Promise<void> {
    const ended = leastUsed(open)
      .map((read) => ({ grant: read.value, read }));
    if (ended.length === 0) return;
    await endGrants(ended);
    for (const { grant: { id, subject, clientName } } of ended) {
      log.audit("Sign-in ended, the least recently used of too many", {
        reference: c.get("reference"),
        subject,
        grantId: id,
        client: clientName,
      });
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
    const { phase, provider: sentTo } = found.value;
    if (phase === "done") {
      // This page was answered with 503 a moment ago.
      const code = await requests.answerAgain(found);
      if (code === undefined) throw finishedAlready(found);
      waiveRate(c);
      return answer(c, found, { code });
    }
    if (phase === "consent") throw notApproved();
    // Its answer is no other provider's business. Each has its own address, so
    // one that was chosen before, or that lies, is not taken for another.
    const from = providers.at(c.req.param("provider"));
    const isSentThere = from?.id === sentTo ||
      // A request from before 0.3 names none: there was only one.
      sentTo === undefined && from?.key === undefined;
    if (!from || !isSentThere) throw leftElsewhere();
    const { id: providerId, provider } = from;
    const { name } = provider;
    const denied = new OAuthError("access_denied", `${name} refused`);
    const failed = new OAuthError(
      "server_error",
      `Signing in with ${name} failed`,
    );

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
        ...upstreamSecrets(handle, browser, from),
        redirectUri: from.redirectUri,
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

    // The grant and its code, in one commit with the approval and what holds
    // for the whole connection. Another sign-in, or a change of the connection,
    // may come first.
    const { tokens, identity } = signedIn;
    const subject = subjectOf(providerId, identity);
    const { clientId } = leased.value.request;
    const upstreamTokens = JSON.stringify(tokens);
    let approval = approving.value;
    let grant: Grant;
    let code: string | undefined;
    for (let tries = 0;; tries++) {
      const connection = await untilStored(() =>
        connections.read({ subject, clientId })
      );
      let state: ConnectionState;
      try {
        ({ grant, state } = joined(identity, from, leased, connection));
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error;
        return error.situation === "blocked"
          ? await refuseBlocked(c, leased, error, { subject })
          : await refuse(c, leased, error, { subject });
      }
      await untilStored(() => makeRoom(c, connection));
      const join = connections.join(connection, state);
      const also: Write = (transaction) => {
        approval?.(transaction);
        join(transaction);
      };
      const outcome = { grant, upstreamTokens, also };
      try {
        code = await untilStored(() => requests.complete(leased, outcome));
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error;
        return await refuseBlocked(c, leased, error, grant);
      }
      if (code !== undefined) break;
      code = await completedAlready(leased, browser);
      if (code !== undefined || tries === MOST_TRIES) break;
      const again = await untilStored(() => requests.find(handle, browser));
      // The lease had expired, and another process was faster.
      if (again?.versionstamp !== leased.versionstamp) break;
      approval = await untilStored(() => approvalOf(leased, browser));
    }
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
