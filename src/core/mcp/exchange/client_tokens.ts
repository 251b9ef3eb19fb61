/**
 * The tokens of this server's own OAuth client at an API (RFC 6749 §4.4).
 * @module
 */
import { ToolError } from "../../../authoring/tool.ts";
import { accountFetch } from "../../provider/account_fetch.ts";
import { GivenKeys } from "./given_keys.ts";

/** An OAuth client that gets tokens for itself (RFC 6749 §4.4). */
export interface ApiClient {
  /** The URL of the token endpoint. */
  token: string;
  /** The client's ID. */
  id: string;
  /** The client's secret. */
  secret: string;
  /** The scopes that the client requests. */
  scopes?: readonly string[];
}

/** The maximum number of bytes of a response of the token endpoint. */
const MAX_ANSWER_BYTES = 50_000;

/** The seconds before its expiry at which a token is replaced. */
const SPARE_SECONDS = 30;

/** The minimum time between two replacements of a token after a 401. */
const PAUSE_MILLISECONDS = 60_000;

/** Matches an access token (RFC 6749 §A.12). */
const TOKEN = /^[ -~]+$/;

/** Keeps a valid token of a client. */
export function clientTokens(
  source: string,
  title: string,
  { token, id, secret, scopes = [] }: ApiClient,
) {
  let current: Promise<string> | undefined;
  let endsAt = 0;
  let replaceableAt = 0;
  const fetchToken = accountFetch(
    { kind: "personalKey", name: title, title, api: token, scheme: "Basic" },
    // Each part is encoded as in a form (RFC 6749 §2.3.1).
    () => Promise.resolve(btoa([id, secret].map(formEncoded).join(":"))),
  );
  async function exchange(): Promise<string> {
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    if (scopes.length > 0) body.set("scope", scopes.join(" "));
    // All calls wait for this answer.
    const signal = AbortSignal.timeout(10_000);
    const bounds = { maxBytes: MAX_ANSWER_BYTES, isSafe: true, signal };
    const init = { method: "POST", body, ...bounds };
    const response = await fetchToken(token, init).catch((error) => {
      if (!signal.aborted) throw error;
    });
    const answer: unknown = await response?.json().catch(() => undefined);
    const { access_token: found, expires_in } = Object(answer);
    if (response?.ok && typeof found === "string" && TOKEN.test(found)) {
      const told = Number(expires_in);
      const seconds = told > 0 ? told : 300;
      const used = Math.max(seconds - SPARE_SECONDS, seconds / 2, 1);
      endsAt = performance.now() + used * 1000;
      // A late response may repeat this token after it was replaced.
      GivenKeys.hideOwnToken(source, found, Math.max(seconds, 60));
      return found;
    }
    const what = signal.aborted
      ? "did not answer in time"
      : `answered ${response?.status}`;
    throw new ToolError(`${title} gave this server no token: it ${what}.`);
  }
  return {
    /** Returns a token. While one is asked for, all calls wait for it. */
    get(): Promise<string> {
      if (current !== undefined && performance.now() < endsAt) return current;
      endsAt = Infinity;
      const asked = exchange().catch((error) => {
        if (current === asked) current = undefined;
        throw error;
      });
      return current = asked;
    },

    /**
     * Forgets a refused token, at most once a minute, because an API may refuse
     * every token. Returns false if the token is not forgotten.
     */
    refuse(refused: Promise<string> | undefined): boolean {
      if (refused !== current) return true;
      const now = performance.now();
      if (now < replaceableAt) return false;
      replaceableAt = now + PAUSE_MILLISECONDS;
      current = undefined;
      return true;
    },
  };
}

const formEncoded = (text: string) =>
  new URLSearchParams({ "": text }).toString().slice(1);
