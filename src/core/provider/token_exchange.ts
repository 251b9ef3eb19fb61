/**
 * Access tokens of services behind the providers, in exchange for those of
 * people's sign-ins, as RFC 8693 has it, or as Microsoft, which is older. They
 * are in memory alone: with the sign-in they are gone.
 *
 * @see RFC 8693
 * @see https://learn.microsoft.com/entra/identity-platform/v2-oauth2-on-behalf-of-flow
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
  /**
   * Returns an access token that is valid now, and the provider that issued it.
   */
  find(): Promise<{ provider: Provider; accessToken: string }>;
  /**
   * Returns another access token for one that the provider has refused;
   * undefined if there is none.
   */
  renew?(refused: string): Promise<string | undefined>;
}

/**
 * The error codes for an access token that the provider no longer accepts: of
 * Microsoft, of RFC 8693 §2.2.2 and of Keycloak.
 */
const REFUSED_SUBJECT = ["invalid_grant", "invalid_request", "invalid_token"];

/** Makes exchanges of tokens that share the tokens they have got. */
export function tokenExchanges() {
  const kept = new KeptTokens();

  /**
   * Makes the exchange of one sign-in.
   *
   * @param id the prefix of the subjects of its provider
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
          // Some providers give the same token again: this call would then wait
          // for itself.
          if (other === undefined || other === accessToken) throw error;
          // If the provider refuses this token too, the refusal is kept: no
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

/** Names a token by everything that it depends on. */
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
  // The token of the sign-in is exchanged again instead of a refresh.
  return { ...tokens, refreshToken: undefined };
}

function isRefusedSubject(error: unknown): boolean {
  return error instanceof UpstreamError &&
    REFUSED_SUBJECT.includes(error.code ?? "");
}

const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/** An exchange at one provider. */
export interface ExchangeRequest {
  kind: ExchangeKind;
  /** The access token of the sign-in. */
  accessToken: string;
  target: TokenTarget;
}

/** Makes the grant type and the parameters, without our authentication. */
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

/** The longest time for which a token stays in memory, whatever its own end. */
const MAX_KEPT_SECONDS = 3600;

/** The time for which a token without an end stays in memory. */
const ENDLESS_KEPT_SECONDS = 300;

/**
 * The time for which a refusal is kept, and in which a token that its service
 * refuses is replaced only once. Asking sooner would get the same answer.
 */
const PAUSE_MILLISECONDS = 60_000;

interface Kept {
  tokens: Promise<UpstreamTokens>;
  /** The time of their request, if they replaced a refused token. */
  replacedMilliseconds: number;
}

/**
 * Access tokens in the memory of a process, each asked for once by all calls that
 * need it at a time.
 */
export class KeptTokens {
  readonly #kept = new LatestMap<Kept>();

  /** Returns the tokens with a key, or those that `ask` gets. */
  get(
    key: string,
    ask: () => Promise<UpstreamTokens>,
  ): Promise<UpstreamTokens> {
    return (this.#kept.get(key) ?? this.#ask(key, ask)).tokens;
  }

  /**
   * Returns tokens to replace an access token that its service has refused.
   * Undefined if they were replaced within the last minute already.
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
      // Another call may have replaced it meanwhile.
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

/** The time for which tokens are given, in milliseconds. */
function lifetimeOf({ expiresAt }: UpstreamTokens): number {
  const seconds = expiresAt === undefined
    ? ENDLESS_KEPT_SECONDS
    : Math.min(expiresAt - now(systemClock), MAX_KEPT_SECONDS);
  return 1000 * secondsOfUse(seconds);
}

/** True if asking again would change nothing. */
function isFinal(error: unknown): boolean {
  return error instanceof UpstreamError && error.kind !== "unavailable";
}
