/**
 * Access tokens of services behind the providers, in exchange for those of
 * people's sign-ins. They are in memory alone: with the sign-in they are gone.
 *
 * @see RFC 8693
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import type { ExchangeTarget, TokenExchange } from "../token_exchange.ts";
import { isTooLong } from "./token_answer.ts";
import { KeptTokens } from "./kept_tokens.ts";
import {
  misbehaved,
  type Provider,
  UpstreamError,
  type UpstreamTokens,
} from "./provider.ts";

/** The access token of one sign-in. */
export interface SubjectToken {
  /** Gives one that is valid now, and the provider that issued it. */
  find(): Promise<{ provider: Provider; accessToken: string }>;
  /**
   * Gives another in place of one that the provider has refused; undefined if
   * there is none.
   */
  renew?(refused: string): Promise<string | undefined>;
}

/**
 * The error codes for an access token that the provider takes no longer: of
 * Microsoft, of RFC 8693 §2.2.2 and of Keycloak.
 */
const REFUSED_SUBJECT = ["invalid_grant", "invalid_request", "invalid_token"];

/** Makes the exchanges of tokens, which share what they have got. */
export function tokenExchanges() {
  const kept = new KeptTokens();

  /**
   * Makes the exchange of one sign-in.
   *
   * @param id the prefix of the subjects of its provider
   */
  return (id: string, subject: SubjectToken): TokenExchange => ({
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
          // Some providers refresh to the same token, for which this waits.
          if (other === undefined || other === accessToken) throw error;
          // A refusal of that one is kept: it gets no third in its place.
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
  { scopes = [], audience, resource }: ExchangeTarget,
): string {
  const parts = [id, accessToken, scopes, audience, resource];
  return fingerprint(JSON.stringify(parts));
}

async function exchange(
  provider: Provider,
  accessToken: string,
  target: ExchangeTarget,
): Promise<UpstreamTokens> {
  if (!provider.exchange) {
    throw misbehaved(`${provider.name} does not exchange tokens`);
  }
  const tokens = await provider.exchange(accessToken, target);
  if (isTooLong(tokens.accessToken)) {
    throw misbehaved(`${provider.name} gave a token that is too long`);
  }
  // The sign-in is exchanged again in place of a refresh.
  return { ...tokens, refreshToken: undefined };
}

function isRefusedSubject(error: unknown): boolean {
  return error instanceof UpstreamError &&
    REFUSED_SUBJECT.includes(error.code ?? "");
}
