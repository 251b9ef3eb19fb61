/**
 * Token exchange: access tokens of services behind a provider, in exchange for
 * the access token of a person's sign-in. By RFC 8693, or by Microsoft's older
 * on-behalf-of flow. Exchanged tokens are only in memory, because they can be
 * requested again.
 * @see RFC 8693
 * @see
 * https://learn.microsoft.com/entra/identity-platform/v2-oauth2-on-behalf-of-flow
 * @module
 */
import { now, systemClock } from "../clock.ts";
import { fingerprint } from "../crypto/crypto.ts";
import { LatestMap } from "../cache.ts";
import { secondsOfUse } from "../oauth/lifetimes.ts";
import type { ExchangeKind } from "../settings/token_exchange.ts";
import type { ServiceTokens, TokenTarget } from "../token_exchange.ts";
import { isTokenTooLong } from "./token_answer.ts";
import {
  misbehaved,
  type Provider,
  UpstreamError,
  type UpstreamTokens,
} from "./provider.ts";

/** The access token to be exchanged, of one sign-in. */
export interface SubjectToken {
  /** Returns a valid access token and the provider that issued it. */
  find(): Promise<{ provider: Provider; accessToken: string }>;
  /**
   * Returns another access token after the provider has refused `refused`;
   * undefined if there is none.
   */
  renew?(refused: string): Promise<string | undefined>;
}

/**
 * Error codes for an access token that the provider no longer accepts:
 * Microsoft's, RFC 8693 §2.2.2's and Keycloak's.
 */
const REFUSED_SUBJECT = ["invalid_grant", "invalid_request", "invalid_token"];

/** Makes the token exchange. Calls share the exchanged tokens. */
export function tokenExchanges() {
  const kept = new KeptTokens();

  /**
   * Returns the token exchange for one sign-in.
   *
   * @param id the id of the provider
   */
  return (id: string, subject: SubjectToken): ServiceTokens => ({
    async token(target, refused) {
      const { provider, accessToken } = await subject.find();
      const ask = (by: string) => exchange(provider, by, target);
      const keyOf = (by: string) => keyFor(id, by, target);

      async function askOrRenew(): Promise<UpstreamTokens> {
        try {
          return await ask(accessToken);
        } catch (error) {
          if (!isRefusedSubject(error)) throw error;
          const other = await subject.renew?.(accessToken);
          // Some providers return the same token again; this call would then
          // wait for itself.
          if (other === undefined || other === accessToken) throw error;
          // If the provider refuses this token, too, its error is
          // remembered: no third token is tried.
          return await kept.get(keyOf(other), () => ask(other));
        }
      }

      const key = keyOf(accessToken);
      const tokens = refused === undefined
        ? await kept.get(key, askOrRenew)
        : await kept.replace(key, askOrRenew, refused);
      return tokens?.accessToken;
    },
  });
}

/** Computes a key from everything that an exchanged token depends on. */
function keyFor(
  id: string,
  accessToken: string,
  { scopes = [], audience, resource }: TokenTarget,
): string {
  const parts = [id, accessToken, scopes, audience, resource];
  return fingerprint(JSON.stringify(parts));
}

async function exchange(
  provider: Provider,
  accessToken: string,
  target: TokenTarget,
): Promise<UpstreamTokens> {
  if (!provider.exchange) {
    throw misbehaved(`${provider.name} does not exchange tokens`);
  }
  const tokens = await provider.exchange(accessToken, target);
  if (isTokenTooLong(tokens.accessToken)) {
    throw misbehaved(`${provider.name} gave a token that is too long`);
  }
  // Without a refresh token: the sign-in's token is exchanged again instead.
  return { ...tokens, refreshToken: undefined };
}

function isRefusedSubject(error: unknown): boolean {
  return error instanceof UpstreamError &&
    REFUSED_SUBJECT.includes(error.code ?? "");
}

const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/** A token exchange request to one provider. */
export interface ExchangeRequest {
  kind: ExchangeKind;
  accessToken: string;
  target: TokenTarget;
}

/** Returns the grant type and its parameters, without client authentication. */
export function exchangeParameters(
  { kind, accessToken, target: { scopes = [], audience, resource } }:
    ExchangeRequest,
): [grantType: string, parameters: Record<string, string>] {
  const scope: Record<string, string> = scopes.length > 0
    ? { scope: scopes.join(" ") }
    : {};
  return kind === "on-behalf-of"
    ? ["urn:ietf:params:oauth:grant-type:jwt-bearer", {
      assertion: accessToken,
      requested_token_use: "on_behalf_of",
      ...scope,
    }]
    : ["urn:ietf:params:oauth:grant-type:token-exchange", {
      subject_token: accessToken,
      subject_token_type: ACCESS_TOKEN,
      requested_token_type: ACCESS_TOKEN,
      ...audience !== undefined && { audience },
      ...resource !== undefined && { resource },
      ...scope,
    }];
}

/** The maximum time for which an exchanged token is kept in memory. */
const MAX_KEPT_SECONDS = 3600;

/** The time for which a token without `expires_in` is kept in memory. */
const ENDLESS_KEPT_SECONDS = 300;

/**
 * The time for which an error of the provider is remembered. Also the minimum
 * time between two replacements of a token that its service refuses.
 */
const PAUSE_MILLISECONDS = 60_000;

interface Kept {
  tokens: Promise<UpstreamTokens>;
  /**
   * The time at which these tokens replaced a refused one; `-Infinity` if they
   * did not.
   */
  replacedMilliseconds: number;
}

/**
 * Exchanged tokens in memory. Simultaneous calls that need the same token share
 * one request.
 */
export class KeptTokens {
  readonly #kept = new LatestMap<Kept>();

  /** Returns the tokens in memory for a key, or requests them by `ask`. */
  get(
    key: string,
    ask: () => Promise<UpstreamTokens>,
  ): Promise<UpstreamTokens> {
    return (this.#kept.get(key) ?? this.#ask(key, ask)).tokens;
  }

  /**
   * Replaces an access token that its service has refused. Undefined if the new
   * one is the same, or one was already replaced within the last minute.
   */
  async replace(
    key: string,
    ask: () => Promise<UpstreamTokens>,
    refused: string,
  ): Promise<UpstreamTokens | undefined> {
    const kept = this.#kept.get(key);
    if (kept) {
      const tokens = await kept.tokens;
      if (tokens.accessToken !== refused) return tokens;
      const freshSince = performance.now() - PAUSE_MILLISECONDS;
      if (kept.replacedMilliseconds > freshSince) return undefined;
      // Another call may have replaced the token in the meantime.
      if (this.#kept.get(key) !== kept) return await this.get(key, ask);
    }
    const tokens = await this.#ask(key, ask, performance.now()).tokens;
    return tokens.accessToken === refused ? undefined : tokens;
  }

  #ask(
    key: string,
    ask: () => Promise<UpstreamTokens>,
    replacedMilliseconds = -Infinity,
  ): Kept {
    const kept: Kept = { tokens: ask(), replacedMilliseconds };
    const keepFor = (milliseconds: number) => {
      if (this.#kept.get(key) === kept) this.#kept.set(key, kept, milliseconds);
    };
    kept.tokens.then(
      (tokens) => keepFor(lifetimeOf(tokens)),
      (error) => keepFor(isFinal(error) ? PAUSE_MILLISECONDS : 0),
    );
    this.#kept.set(key, kept);
    return kept;
  }
}

function lifetimeOf({ expiresAt }: UpstreamTokens): number {
  const seconds = expiresAt === undefined
    ? ENDLESS_KEPT_SECONDS
    : Math.min(expiresAt - now(systemClock), MAX_KEPT_SECONDS);
  return 1000 * secondsOfUse(seconds);
}

/** True if the same request would fail again. */
function isFinal(error: unknown): boolean {
  return error instanceof UpstreamError && error.kind !== "unavailable";
}
