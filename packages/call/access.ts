/**
 * Requests to a server, and a sign-in if the server asks for one. The caller's
 * credentials are sent to this server only.
 *
 * @module
 */
import { isLoopback } from "../../src/core/net/url.ts";
import { SignIn } from "../client/mod.ts";
import {
  Credentials,
  type CredentialsOptions,
  type Refusal,
} from "./credentials.ts";
import { Exit, Failure } from "./failure.ts";

interface AccessOptions extends CredentialsOptions {
  /** A personal token, in place of signing in. */
  token?: string;
  /** Headers of every request. They may contain a key. */
  headers: Readonly<Record<string, string>>;
  /** True for a server that is not the author's own. */
  isAnother?: boolean;
}

export class ServerAccess {
  readonly #credentials: Credentials;

  /** @throws {Failure} if credentials would be sent unencrypted */
  constructor(private readonly options: AccessOptions) {
    this.#credentials = new Credentials(options);
    const hasSecret = options.token !== undefined ||
      Object.keys(options.headers).length > 0;
    if (hasSecret) this.#checkSecure();
  }

  /**
   * Sends a request to the server, and signs in if the server asks for that.
   */
  readonly fetch = async (request: Request): Promise<Response> => {
    const { url, token } = this.options;
    const credentials = this.#credentials;
    if (request.url !== new URL(url).href) {
      throw new Error(`${request.url} is not the server that is called`);
    }
    let hasRefreshed = false;
    for (let signIns = 0;;) {
      const used = token ?? await credentials.current();
      const response = await this.#send(request.clone(), used);
      const refusal = refusalIn(response);
      if (!refusal) return response;
      await response.body?.cancel();
      if (token !== undefined) throw refused(url, refusal, true);
      if (!refusal.isStepUp && used !== undefined && !hasRefreshed) {
        hasRefreshed = true;
        if (await credentials.refresh(used)) continue;
      }
      // If a server asks again and again, the person would sign in for ever.
      if (signIns++ === 2) throw refused(url, refusal);
      await credentials.signIn(refusal);
    }
  };

  /**
   * Deletes the sign-in and revokes its tokens. Returns false if there is none.
   */
  logOut(): Promise<boolean> {
    return this.#credentials.revoke();
  }

  async #send(request: Request, token?: string): Promise<Response> {
    const { headers, url } = this.options;
    for (const [name, value] of Object.entries(headers)) {
      request.headers.set(name, value);
    }
    if (token !== undefined) {
      this.#checkSecure();
      request.headers.set("authorization", `Bearer ${token}`);
    }
    let response: Response;
    try {
      response = await fetch(request, { redirect: "manual" });
    } catch (cause) {
      if (request.signal.aborted) throw request.signal.reason;
      const words = unreachable(this.options, wordsOf(cause));
      throw new Failure(words, Exit.server, { cause });
    }
    if (response.status < 300 || response.status > 399) return response;
    await response.body?.cancel();
    throw new Failure(
      `${url} answers ${response.status} and leads to ` +
        `${response.headers.get("location")}: no redirect is followed. Give ` +
        "that address with --url, if you trust it",
      Exit.server,
    );
  }

  #checkSecure(): void {
    const url = new URL(this.options.url);
    if (url.protocol === "https:" || isLoopback(url)) return;
    throw new Failure(
      `${url.href} is http: credentials are sent only over https, or to ` +
        "this machine",
      Exit.access,
    );
  }
}

/**
 * Reads the refusal in a response that asks for other credentials. Undefined
 * for any other response.
 */
export function refusalIn({ status, headers }: Response): Refusal | undefined {
  const challenge = SignIn.parseChallenge(headers);
  const isStepUp = status === 403 && challenge.error === "insufficient_scope";
  return status === 401 || isStepUp ? { ...challenge, isStepUp } : undefined;
}

/** Makes the failure for a caller who may not call. */
function refused(
  url: string,
  { isStepUp, scope }: Refusal,
  hasToken = false,
): Failure {
  return new Failure(
    isStepUp
      ? `This needs the scope ${scope}, which was not granted at ${url}`
      : hasToken
      ? `${url} does not accept the token that was given: give another, or ` +
        "none to sign in"
      : `${url} does not accept these credentials: sign in, or give --token`,
    Exit.access,
  );
}

/** Explains why a URL cannot be reached. */
function unreachable({ url, isAnother }: AccessOptions, words: string): string {
  if (!/connection refused|actively refused/i.test(words)) {
    return `${url} cannot be reached: ${words}`;
  }
  return !isAnother && isLoopback(new URL(url))
    ? `Nothing listens at ${url}. Is \`deno task dev\` running? For another ` +
      "port set PORT, or give --url"
    : `Nothing listens at ${url}`;
}

function wordsOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : `${message}`;
}
