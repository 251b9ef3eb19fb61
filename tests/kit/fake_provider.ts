/**
 * A provider inside the test: it signs everyone in at once, and can be made to
 * fail in every way a provider can.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Identity, Membership } from "../../src/core/caller.ts";
import type { TokenTarget } from "../../src/core/token_exchange.ts";
import { codeChallenge } from "../../src/core/oauth/pkce.ts";
import {
  type Provider,
  UpstreamError,
  type UpstreamRequest,
  type UpstreamTokens,
} from "../../src/core/provider/provider.ts";

export const PROVIDER_URL = "https://id.example.com";

/** A provider with switches. */
export class FakeProvider implements Provider {
  readonly name = "Example ID";
  apiUrl: string | undefined = `${PROVIDER_URL}/api`;
  /** The subject of the next person who signs in. */
  subject = "42";
  personName = "Jo";
  email = "jo@example.com";
  /**
   * The memberships of the next person, at the sign-in and when asked again.
   */
  memberships: Partial<Pick<Identity, Membership>> = {};
  /** The failure when the identity is asked for again. */
  identityFailure: UpstreamError["kind"] | undefined;
  /**
   * The time at which the next person authenticated, if the provider reports
   * it.
   */
  authenticatedAt?: number;
  /** Lifetime of the tokens it issues; undefined: for ever. */
  ttlSeconds: number | undefined = 3600;
  givesRefreshTokens = true;
  /**
   * True if the provider says that an access token is alive; undefined if it
   * says nothing.
   */
  alive: boolean | undefined = true;
  revokesOne = false;
  /** The failure of the next requests. */
  failure: UpstreamError["kind"] | undefined;
  /** Fails after the code was exchanged, as a user endpoint would. */
  failsAfterCode = false;
  /** Called with every access token. */
  onIssue: (accessToken: string) => void = () => {};
  /** The last authorization request. */
  asked?: UpstreamRequest;
  /** All requests, in order. */
  readonly log: string[] = [];
  readonly #challenges = new Map<
    string,
    { challenge: string; nonce: string }
  >();
  /** Refresh tokens that were used: each is accepted once. */
  readonly #used = new Set<string>();
  #count = 0;

  async authorizationUrl(request: UpstreamRequest): Promise<URL> {
    await this.#answer("authorize");
    this.asked = request;
    const code = `provider-code-${++this.#count}-${crypto.randomUUID()}`;
    this.#challenges.set(code, {
      challenge: request.codeChallenge,
      nonce: request.nonce,
    });
    const url = new URL("/authorize", PROVIDER_URL);
    url.search = new URLSearchParams({
      redirect_uri: request.redirectUri,
      state: request.state,
      code,
    }).toString();
    return url;
  }

  checkIssuer(issuer = PROVIDER_URL): Promise<void> {
    const isAway = this.failure === "unavailable";
    if (!isAway && issuer === PROVIDER_URL) return Promise.resolve();
    const kind = isAway ? "unavailable" : "misbehaved";
    return Promise.reject(new UpstreamError(kind, "As told"));
  }

  async redeem(request: { code: string; codeVerifier: string; nonce: string }) {
    await this.#answer("redeem");
    const known = this.#challenges.get(request.code);
    if (!known) throw new UpstreamError("dead", "No such code");
    assert.equal(codeChallenge(request.codeVerifier), known.challenge);
    assert.equal(request.nonce, known.nonce);
    this.#challenges.delete(request.code);
    if (this.failsAfterCode) {
      throw new UpstreamError("unavailable", "As told", { isCodeSpent: true });
    }
    const { authenticatedAt } = this;
    return {
      tokens: this.#issue(),
      identity: this.#identity(),
      ...authenticatedAt !== undefined && { authenticatedAt },
    };
  }

  async identify({ accessToken }: UpstreamTokens): Promise<Identity> {
    await this.#answer("identify");
    assert.match(accessToken, /^provider-access-/);
    if (this.identityFailure) {
      throw new UpstreamError(this.identityFailure, "As told");
    }
    return this.#identity();
  }

  #identity(): Identity {
    const { subject, email, memberships } = this;
    return {
      subject,
      name: this.personName,
      email,
      emailVerified: true,
      ...memberships,
    };
  }

  async refresh(refreshToken: string): Promise<UpstreamTokens> {
    await this.#answer("refresh");
    assert.match(refreshToken, /^provider-refresh-/);
    if (this.#used.has(refreshToken)) {
      throw new UpstreamError("dead", "Used before");
    }
    this.#used.add(refreshToken);
    return this.#issue();
  }

  /** Exchanges any token: the answer names it, and the target. */
  async exchange(
    accessToken: string,
    { scopes = [] }: TokenTarget,
  ): Promise<UpstreamTokens> {
    await this.#answer("exchange");
    const text = `${scopes.join("+")} for ${accessToken}`;
    return { accessToken: text.replaceAll(" ", "-"), tokenType: "Bearer" };
  }

  async isAlive(accessToken: string): Promise<boolean | undefined> {
    await this.#answer("is alive");
    assert.match(accessToken, /^provider-access-/);
    return this.alive;
  }

  async revoke(tokens: UpstreamTokens): Promise<void> {
    await this.#answer("revoke");
    assert.match(tokens.accessToken, /^provider-access-/);
  }

  #issue(): UpstreamTokens {
    const number = `${++this.#count}-${crypto.randomUUID()}`;
    const accessToken = `provider-access-${number}`;
    this.onIssue(accessToken);
    return {
      accessToken,
      tokenType: "Bearer",
      ...this.givesRefreshTokens &&
        { refreshToken: `provider-refresh-${number}` },
      ...this.ttlSeconds !== undefined &&
        { expiresAt: Math.floor(Date.now() / 1000) + this.ttlSeconds },
    };
  }

  async #answer(what: string): Promise<void> {
    this.log.push(what);
    // Gives other work a turn, as a network would.
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (this.failure) throw new UpstreamError(this.failure, "As told");
  }
}
