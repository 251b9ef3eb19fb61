/**
 * The OAuth authorization code flow by which a person connects an account at a
 * service. Nothing is stored before they confirm the account. `state`, the PKCE
 * verifier and the nonce are derived from the browser's session, so no other
 * session can finish the flow.
 *
 * @module
 * @see RFC 6749 §4.1, RFC 7636, RFC 9207, RFC 9700 §4.4
 */
import type { ConnectServices } from "./connect_pages.ts";
import type { Context } from "@hono/hono";
import { now } from "../../core/clock.ts";
import { base64url, randomId } from "../../core/crypto/crypto.ts";
import { HttpError } from "../../core/errors.ts";
import { titleOf } from "../../authoring/account.ts";
import { redirect } from "../../core/http/browser.ts";
import { deriveKey } from "../../core/oauth/refresh_token.ts";
import { parseGrantedScopes } from "../../core/oauth/given_scopes.ts";
import { codeChallenge } from "../../core/oauth/pkce.ts";
import { stateStore } from "../../core/store/once.ts";
import type { AccountClient, SignInServer } from "./account_client.ts";
import { settingRefused } from "./application_refusal.ts";
import { errorOfCheck, UpstreamError } from "../../core/provider/provider.ts";
import {
  errorInTokenAnswer,
  isTokenTooLong,
} from "../../core/provider/token_answer.ts";
import { sessionSeals } from "../account_page/session_seals.ts";
import { type SignedIn, signedOut } from "../account_page/signed_in.ts";
import {
  connectContext,
  type ConnectedService,
  type ConnectVisit,
  findWiderScopes,
} from "./connect_pages.ts";
import type { ConnectFlow } from "./connect_flow.ts";
import { CHECKED_SECONDS, type CheckedKey } from "./checked_key.ts";
import { checkKey, describeAccount, KeyRefusal } from "./pasted_key.ts";

/** The seconds within which the person must return from the service. */
const AWAY_SECONDS = 1800;

/**
 * The seconds after which tokens are revoked if their account is not confirmed.
 */
const UNCONFIRMED_SECONDS = CHECKED_SECONDS + 300;

/** The content of `state`, encrypted for the session that began the flow. */
interface Departure {
  handle: string;
  /** The ID of the waiting call that needs the account. */
  w?: string;
  at?: SignInServer;
  expiresAt: number;
}

/** An authorization response, and the request that it belongs to. */
interface Answer {
  departure: Departure;
  client: AccountClient;
  redirectUri: string;
}

export function accountAuthorization(
  services: ConnectServices,
  flow: ConnectFlow,
) {
  const { baseUrl, clock, log, database } = services;
  const states = stateStore(database);

  const redirectUriOf = ({ service: { name } }: ConnectedService) =>
    `${baseUrl}/connect/${name}/callback`;

  /** Encrypts and decrypts `state` for one session, person and service. */
  const departures = (found: ConnectedService, person: SignedIn) =>
    sessionSeals<Departure>(
      person.id,
      "connect state",
      connectContext(found, person),
    );

  /**
   * Derives the PKCE verifier and the nonce of a request from the session ID,
   * because `state` does not contain that ID.
   */
  function secretsOf({ id }: SignedIn, handle: string) {
    const derive = (purpose: string) =>
      base64url(deriveKey(`${id} ${handle}`, `connect ${purpose}`));
    return { codeVerifier: derive("code_verifier"), nonce: derive("nonce") };
  }

  /**
   * Sends a request to the service.
   *
   * @throws {KeyRefusal} with a message for the person, if the service fails or
   * refuses
   */
  async function ask<T>(
    { service }: ConnectVisit,
    question: () => Promise<T>,
  ): Promise<T> {
    try {
      return await question();
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const title = titleOf(service);
      switch (error.kind) {
        case "denied":
          throw new KeyRefusal(`${title} did not allow it.`);
        case "dead":
          throw new KeyRefusal(
            `${title} takes each answer once, and not for long: this one is over.`,
          );
        case "unavailable":
          throw new KeyRefusal(`${title} does not answer. Try again later.`);
        default:
          log.warning("An account could not be connected", {
            service: service.name,
            ...settingRefused(service, error),
            error,
          });
          throw new KeyRefusal(
            `${title} gave an answer that is of no use. The people who run ` +
              "this server find the reason in its log.",
          );
      }
    }
  }

  return {
    /**
     * Redirects the person to the service's authorization endpoint.
     *
     * @param isNarrow true to request no other scopes than the author's
     */
    async start(
      c: Context,
      visit: ConnectVisit,
      isNarrow = false,
    ): Promise<Response> {
      const { person, client, wait } = visit;
      flow.countTry(visit);
      const handle = randomId();
      const { codeVerifier, nonce } = secretsOf(person, handle);
      const expiresAt = now(clock) + AWAY_SECONDS;
      const redirectUri = redirectUriOf(visit);
      const wider = await findWiderScopes(visit);
      const found = await ask(
        visit,
        async () => await client!.findServer?.({ redirectUri, wider }),
      );
      const at = found && { ...found, ...isNarrow && { isNarrow } };
      const departure = { handle, w: wait?.id, at, expiresAt };
      const state = await departures(visit, person).seal(departure);
      const url = await ask(visit, () =>
        client!.authorizationUrl({
          at,
          state,
          nonce,
          codeChallenge: codeChallenge(codeVerifier),
          redirectUri,
        }));
      return redirect(c, url.href);
    },

    /**
     * Decrypts the `state` of an authorization response.
     *
     * @throws {HttpError} for another browser, person, session or service
     */
    async open(
      c: Context,
      found: ConnectedService,
      person: SignedIn | undefined,
    ): Promise<{ visit: ConnectVisit; answer: Answer }> {
      const { service, client } = found;
      if (!client) throw new HttpError(404, "There is nothing at this address");
      if (!person) throw signedOut();
      services.signedIn.checkAllowed(person);
      const departure = await departures(found, person)
        .open(c.req.query("state"));
      if (!departure || departure.expiresAt <= now(clock)) {
        throw new HttpError(
          400,
          "This was begun in another browser or by someone else, or too long ago",
          { situation: "connecting expired" },
        );
      }
      const wait = await flow.findWait(departure.w, person, service);
      const redirectUri = redirectUriOf(found);
      return {
        visit: { ...found, person, wait },
        answer: { departure, client, redirectUri },
      };
    },

    /**
     * Redeems the code, and shows the person the account.
     *
     * @throws {KeyRefusal}
     */
    async finish(
      c: Context,
      visit: ConnectVisit,
      { departure, client, redirectUri }: Answer,
    ): Promise<Response> {
      const { code, error, iss: issuer } = c.req.query();
      const { person, service } = visit;
      const { handle, at } = departure;
      if (error !== undefined || !code) {
        const other = await errorOfCheck(() => client.checkIssuer(issuer, at));
        // The MCP server wants scopes that its authorization server lacks.
        const isUnknown = error === "invalid_scope" && at?.wider && !other;
        if (isUnknown && !at.isNarrow) return await this.start(c, visit, true);
        await ask(visit, async () => {
          throw other ?? await errorInTokenAnswer(
            Response.json({ error }, { status: 400 }),
            titleOf(service),
          );
        });
      }
      flow.countTry(visit);
      // Each code is redeemed once: if a code is used twice, as when the person
      // reloads this page, a service may revoke all its tokens (RFC 6749
      // §4.1.2).
      if (!await states.spend(`connect ${handle}`, departure)) {
        throw new KeyRefusal("This answer was used already. Begin again.");
      }
      const { tokens, findAccount } = await ask(visit, () =>
        client.redeem({
          at,
          code,
          ...secretsOf(person, handle),
          redirectUri,
          issuer,
        }));
      const { idToken: _, ...kept } = tokens;
      const { accessToken } = kept;
      const key = JSON.stringify(kept);
      const checked = { key, confirmation: handle };
      if (isTokenTooLong(key)) {
        // These tokens are stored nowhere, so their revocation is tried only
        // once.
        database.background(() => client.revoke(tokens));
        throw new KeyRefusal(
          `${titleOf(service)} gave a token that is too long.`,
        );
      }
      try {
        // The session may have ended while the code was redeemed.
        await services.signedIn.staysAllowed(person);
        const found = await ask(visit, findAccount);
        const told: CheckedKey = {
          ...checked,
          given: parseGrantedScopes(kept),
          wider: at?.wider,
          signedInAt: URL.parse(at?.authorizationEndpoint ?? "")?.host,
          ...describeAccount(found, accessToken),
          ...await checkKey(service, accessToken, log),
        };
        // The revocation is queued before the page is shown, because the person
        // may never confirm the account.
        const revocation = await flow.revoke(
          visit,
          told,
          UNCONFIRMED_SECONDS,
        );
        return await flow.confirm(c, visit, { ...told, revocation });
      } catch (error) {
        // If the database cannot queue the tokens, they are revoked at once.
        database.background(() =>
          flow.revoke(visit, checked)
            .catch(() => client.revoke(tokens)).then(() => {})
        );
        throw error;
      }
    },

    /** Revokes the tokens of an account that the person did not confirm. */
    async discard(
      visit: ConnectVisit,
      sealed: string | undefined,
    ): Promise<void> {
      const { revocation } = await flow.openConfirmed(visit, sealed) ?? {};
      if (revocation) await visit.vault.revokeNow(revocation);
    },
  };
}
