/**
 * Completes a sign-in after the provider's response. One commit stores the
 * grant, its code, the consent and the new state of the connection.
 *
 * @module
 */
import type { Identity } from "../../caller.ts";
import { now } from "../../clock.ts";
import type { FoundRequest } from "../../store/authorization_requests.ts";
import type { Connection, SharedSignInState } from "../../store/connections.ts";
import type { Write } from "../../kv/database.ts";
import type { UpstreamTokens } from "../../provider/provider.ts";
import { signInInterrupted, storeSignIn } from "../../provider/unavailable.ts";
import {
  leastUsedGrants,
  scopesAt,
  scopesOfSignIn,
} from "../../oauth/connection.ts";
import type { Grant } from "../../oauth/grant.ts";
import { AUTHORIZATION_REQUEST_TTL_SECONDS } from "../../oauth/lifetimes.ts";
import { grantOfSignIn } from "../../oauth/new_grant.ts";
import { subjectOf } from "../../oauth/subject.ts";
import { requestAnswered } from "./browser_request.ts";
import type { AuthServices } from "../services.ts";

/**
 * The maximum number of tries. A try fails if the connection is changed at the
 * same time.
 */
const MAX_TRIES = 50;

/** A person whom the provider has identified, with the provider's tokens. */
interface ReturnedPerson {
  /** The provider's id, with which the subjects of its people begin. */
  providerId: string;
  identity: Identity;
  tokens: UpstreamTokens;
  browser: string;
  reference: string;
}

/**
 * Makes the function that completes a leased authorization request with a grant
 * and its code.
 *
 * @throws {OAuthError} `access_denied` if the settings do not allow the
 * sign-in; another error code if another process completed the request
 * @throws {import("../../errors.ts").HttpError} 503 if the database stays
 * unreachable
 */
export function signInCompletion(services: AuthServices) {
  const { baseUrl, consents, connections, requests, database } = services;
  const { scopes: known, lifetimes, endGrants, clock, log } = services;

  /**
   * Makes the write that stores the consent for months. The consent is stored
   * only after the sign-in, because until then anyone could have clicked the
   * button.
   */
  async function consentWrite(
    { value: { request, consented } }: FoundRequest,
    browser: string,
  ): Promise<Write | undefined> {
    // The client is trusted, so no one was asked to approve it.
    if (!consented) return undefined;
    const approved = { ...request, scopes: consented };
    return await consents.add(browser, approved, request.scopes);
  }

  /**
   * Makes the grant, and the new state of the connection between the person and
   * the client.
   */
  function join(
    { identity, providerId }: ReturnedPerson,
    { value: record }: FoundRequest,
    { state: { pausedAt, revokedScopes = [], revokedScopesAt = 0 }, open }:
      Connection,
  ): { grant: Grant; state: SharedSignInState } {
    const { request } = record;
    const { consented = request.scopes, named } = record;
    const beganAt = record.expiresAt - AUTHORIZATION_REQUEST_TTL_SECONDS;
    const { redirectUri, scopes: offered } = request;
    const time = now(clock);
    const had = scopesAt(open, { redirectUri, lifetimes, now: time })
      .filter((scope) => known.supported.includes(scope));
    const scopes = scopesOfSignIn(
      { approved: consented, offered, named, redirectUri },
      { had, revokedScopes, isOlder: revokedScopesAt > beganAt },
    );
    const grant = grantOfSignIn(
      identity,
      { ...record, providerId, consented: scopes },
      services,
      { issuer: baseUrl, now: time },
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
        revokedScopes: revokedScopes.filter((it) => !grant.scopes.includes(it)),
        revokedScopesAt,
      },
    };
  }

  /**
   * Ends the least recently used sign-ins of a connection that has too many.
   */
  async function makeRoom(
    { open }: Connection,
    reference: string,
  ): Promise<void> {
    const ended = leastUsedGrants(open);
    if (ended.length === 0) return;
    await endGrants(ended);
    for (const { value: { id, subject, clientName } } of ended) {
      log.audit("Sign-in ended, the least recently used of too many", {
        reference,
        subject,
        grantId: id,
        client: clientName,
      });
    }
  }

  /**
   * Finds out why a commit failed. Undefined if another sign-in or change of
   * the connection was faster, so that another try may work. Returns the code
   * if an earlier try was applied after all.
   * @throws {OAuthError} if another process completed the request
   */
  async function completedAlready(
    leased: FoundRequest,
    browser: string,
  ): Promise<string | undefined> {
    const found = await requests.find(leased.handle, browser);
    if (found?.versionstamp === leased.versionstamp) return undefined;
    const code = found && await requests.replayCode(found);
    if (code === undefined) throw requestAnswered();
    return code;
  }

  return async function complete(
    leased: FoundRequest,
    person: ReturnedPerson,
  ): Promise<{ grant: Grant; code: string }> {
    const { identity, providerId, tokens, browser, reference } = person;
    const subject = subjectOf(providerId, identity);
    const { clientId } = leased.value.request;
    const upstreamTokens = JSON.stringify(tokens);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const [connection, consent] = await storeSignIn(() =>
        Promise.all([
          connections.read({ subject, clientId }),
          consentWrite(leased, browser),
        ])
      );
      const { grant, state } = join(person, leased, connection);
      const extraWrites: Write = (transaction) => {
        consent?.(transaction);
        connections.join(connection, state)(transaction);
      };
      const outcome = { grant, upstreamTokens, extraWrites };
      const code = await storeSignIn(() => requests.complete(leased, outcome));
      if (code !== undefined) {
        // Only after the commit, so that a failed sign-in ends no other one. If
        // this process dies here, the next sign-in makes the room.
        database.background(() => makeRoom(connection, reference));
        return { grant, code };
      }
      const earlier = await storeSignIn(() =>
        completedAlready(leased, browser)
      );
      if (earlier !== undefined) return { grant, code: earlier };
    }
    throw signInInterrupted(
      new Error("The connection was changed again and again meanwhile"),
    );
  };
}
