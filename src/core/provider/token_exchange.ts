/**
 * Access tokens of services behind the providers, in exchange for the access
 * tokens of people's sign-ins: by RFC 8693, or by Microsoft's older
 * on-behalf-of flow. They are only in memory, and the sign-in's tokens get them
 * again.
 *
 * @see RFC 8693
 * @see
 * https://learn.microsoft.com/entra/identity-platform/v2-oauth2-on-behalf-of-flow
 * @module
 */
import { now, systemClock } from "../clock.ts";
import { fingerprint } from "../crypto/crypto.ts";
import { LatestMap } from "../latest_map.ts";
import { secondsOfUse } from "../oauth/lifetimes.ts";
import type { ExchangeKind } from "../settings/token_exchange.ts";
import type { ServiceTokens, TokenTarget } from "../token_exchange.ts";
import { isTooLong } from "./token_answer.ts";
import {
  misbehaved,
  type Provider,
  UpstreamError,
  type UpstreamTokens,
} from "./provider.ts";

/** The access token of one sign-in. */
export interface SubjectToken {
  /** Returns a valid access token, and the provider that issued it. */
  find(): Promise<{ provider: Provider; accessToken: string }>;
  /**
   * Returns another access token after the provider has refused one; undefined
   * if there is no other.
   */
  renew?(refused: string): Promise<string | undefined>;
}

/**
 * The error codes for an access token that the provider no longer accepts:
 * Microsoft's, that of RFC 8693 §2.2.2, and Keycloak's.
 */
const REFUSED_SUBJECT = ["invalid_grant", "invalid_request", "invalid_token"];

/** Makes the exchange of tokens; calls share the tokens that were exchanged. */
export function tokenExchanges() {
  const kept = new KeptTokens();

  /**
   * Returns the exchange for one sign-in.
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
          // Some providers return the same token again: then this call would
          // wait for itself.
          if (other === undefined || other === accessToken) throw error;
          // If the provider refuses this token, too, the refusal is kept: no
          // third token is tried.
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

/** Returns a key made of everything that a token depends on. */
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
  if (isTooLong(tokens.accessToken)) {
    throw misbehaved(`${provider.name} gave a token that is too long`);
  }
  // No refresh token: the sign-in's token is exchanged again instead.
  return { ...tokens, refreshToken: undefined };
}

function isRefusedSubject(error: unknown): boolean {
  return error instanceof UpstreamError &&
    REFUSED_SUBJECT.includes(error.code ?? "");
}

const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/** A token exchange at one provider. */
export interface ExchangeRequest {
  kind: ExchangeKind;
  /** The access token of the sign-in. */
  accessToken: string;
  target: TokenTarget;
}

/**
 * Returns the grant type and the parameters, without those that authenticate
 * our client.
 */
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

/**
 * The maximum time for which a token is kept in memory, whatever its lifetime.
 */
const MAX_KEPT_SECONDS = 3600;

/** The time for which a token without `expires_in` is kept in memory. */
const ENDLESS_KEPT_SECONDS = 300;

/**
 * The time for which a refusal is kept, and in which a token that the service
 * refuses is replaced at most once: an earlier request would get the same
 * response.
 */
const PAUSE_MILLISECONDS = 60_000;

interface Kept {
  tokens: Promise<UpstreamTokens>;
  /**
   * The time of the request for the tokens, if they replace a refused token.
   */
  replacedMilliseconds: number;
}

/**
 * Access tokens in the memory of a process. Calls that need the same token at
 * the same time share one request.
 */
export class KeptTokens {
  readonly #kept = new LatestMap<Kept>();

  /**
   * Returns the tokens that are kept under a key, or else those that `ask`
   * gets.
   */
  get(
    key: string,
    ask: () => Promise<UpstreamTokens>,
  ): Promise<UpstreamTokens> {
    return (this.#kept.get(key) ?? this.#ask(key, ask)).tokens;
  }

  /**
   * Returns tokens in place of an access token that the service has refused.
   * Returns undefined if there are none, or it was already replaced within the
   * last minute.
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
      // Another call may have replaced the token meanwhile.
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

/** The time for which tokens are kept, in milliseconds. */
function lifetimeOf({ expiresAt }: UpstreamTokens): number {
  const seconds = expiresAt === undefined
    ? ENDLESS_KEPT_SECONDS
    : Math.min(expiresAt - now(systemClock), MAX_KEPT_SECONDS);
  return 1000 * secondsOfUse(seconds);
}

/** True if the same request would get the same error. */
function isFinal(error: unknown): boolean {
  return error instanceof UpstreamError && error.kind !== "unavailable";
}
