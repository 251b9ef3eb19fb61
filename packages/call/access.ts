/**
 * The way to a server: requests with the caller's credentials, which are sent
 * to this one server alone, and signing in where it wants that.
 *
 * @module
 */
import { isLoopback } from "../../src/net/loopback.ts";
import { SignIn, type SignInError, type Tokens } from "../client/mod.ts";
import { type Challenge, challengeOf, refused } from "./challenge.ts";
import { Exit, Failure } from "./failure.ts";
import type { KeptSignIn, KeptSignInFile } from "./kept_sign_in.ts";
import { listen } from "./receiver.ts";

/** The options of the way to a server. */
export interface AccessOptions {
  /** The address of `/mcp`. */
  url: string;
  /** A personal token, in place of signing in. */
  token?: string;
  /** Headers of every request, which may hold a key. */
  headers: Readonly<Record<string, string>>;
  clientId?: string;
  scope?: string;
  /** The kept sign-in; undefined if there is nowhere to keep it. */
  file?: KeptSignInFile;
  /** Shows the address of a sign-in to the person. */
  show(url: string): void;
  /** Ends the wait for the person. */
  signal: AbortSignal;
}

/** The time within which a person signs in. */
const PERSON_MILLISECONDS = 5 * 60_000;

const METADATA_MILLISECONDS = 30_000;

/** A token that ends so soon is exchanged before it is used. */
const SOON_MILLISECONDS = 30_000;

/** The way to one server. */
export class Access {
  readonly #options: AccessOptions;
  #kept?: Promise<KeptSignIn | undefined>;
  /** True once the server has shown that it knows the registered client. */
  #isClientKnown = false;

  /** @throws {Failure} when credentials would travel in the clear */
  constructor(options: AccessOptions) {
    this.#options = options;
    const hasSecret = options.token !== undefined ||
      Object.keys(options.headers).length > 0;
    if (hasSecret) this.#checkSecure();
  }

  /** Sends a request to the server, and signs in if it asks for that. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const { url, token } = this.#options;
    if (request.url !== new URL(url).href) {
      throw new Error(`${request.url} is not the server that is called`);
    }
    let hasRefreshed = false;
    for (let signIns = 0;;) {
      const kept = token === undefined ? await this.#current() : undefined;
      const response = await this.#send(
        request.clone(),
        token ?? kept?.tokens.accessToken,
      );
      const challenge = challengeOf(response);
      if (!challenge) return response;
      await response.body?.cancel();
      if (token !== undefined) throw refused(url, challenge);
      if (!challenge.isStepUp && kept && !hasRefreshed) {
        hasRefreshed = true;
        if (await this.#refresh(kept.tokens.accessToken)) continue;
      }
      // A server that asks again and again would keep its person busy.
      if (signIns++ === 2) throw refused(url, challenge);
      await this.#signInOrFail(challenge);
    }
  };

  /** Forgets the sign-in, and revokes its tokens at the server. */
  async logOut(): Promise<boolean> {
    let old: KeptSignIn | undefined;
    await this.#options.file?.change((kept) => {
      old = kept;
      return Promise.resolve(undefined);
    });
    if (!old) return false;
    const { registration, tokens } = old;
    await SignIn.revoke(
      registration,
      tokens.refreshToken ?? tokens.accessToken,
      this.#quickFetch,
    );
    return true;
  }

  async #send(request: Request, token?: string): Promise<Response> {
    const { headers, url } = this.#options;
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
      throw new Failure(
        `${url} cannot be reached: ${wordsOf(cause)}`,
        Exit.server,
        { cause },
      );
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
    const url = new URL(this.#options.url);
    if (url.protocol === "https:" || isLoopback(url)) return;
    throw new Failure(
      `${url.href} is http: credentials are sent over https alone, and to ` +
        "this machine",
      Exit.access,
    );
  }

  /** Gives the sign-in to use, with a token that will last a while. */
  async #current(): Promise<KeptSignIn | undefined> {
    const kept = await (this.#kept ??= this.#read());
    const { expiresMilliseconds = Infinity, accessToken } = kept?.tokens ?? {};
    if (!accessToken || Date.now() + SOON_MILLISECONDS < expiresMilliseconds) {
      return kept;
    }
    await this.#refresh(accessToken);
    return await this.#kept;
  }

  async #read(): Promise<KeptSignIn | undefined> {
    return await this.#options.file?.read();
  }

  /**
   * Exchanges the refresh token, unless another process has done so; false if
   * there is no good one.
   */
  async #refresh(stale: string): Promise<boolean> {
    let isGood = false;
    const change = async (kept: KeptSignIn | undefined) => {
      if (!kept) return kept;
      const { registration, tokens } = kept;
      if (tokens.accessToken !== stale) {
        isGood = true;
        return kept;
      }
      if (tokens.refreshToken === undefined) return kept;
      try {
        const fresh = await SignIn.refresh(
          registration,
          tokens.refreshToken,
          this.#quickFetch,
        );
        isGood = true;
        return { ...kept, tokens: { ...tokens, ...fresh } };
      } catch (error) {
        const { error: code } = error as SignInError;
        // The server has forgotten the client: it registers anew.
        if (code === "invalid_client") return undefined;
        if (code !== "invalid_grant") throw error;
        this.#isClientKnown = true;
        return withoutRefreshToken(kept);
      }
    };
    const kept = await this.#options.file?.change(change);
    this.#kept = Promise.resolve(kept);
    return isGood;
  }

  /** @throws {Failure} */
  async #signInOrFail(challenge: Challenge): Promise<void> {
    try {
      await this.#signIn(challenge);
    } catch (cause) {
      const { message, status } = cause as SignInError;
      const hint = status === 404 ? ". If it has no sign-in, give --token" : "";
      throw new Failure(
        `Signing in at ${this.#options.url} failed: ${message}${hint}`,
        Exit.access,
        { cause },
      );
    }
  }

  async #signIn({ isStepUp, scope, metadataUrl }: Challenge): Promise<void> {
    const { url, clientId, file, show, signal } = this.#options;
    const kept = await this.#kept;
    const registration = kept?.registration;
    await using receiver = listen(registration?.redirectUri);
    const { redirectUri } = receiver;
    // An unknown client is not told so, and its person sees an error page.
    const isKnown = registration?.redirectUri === redirectUri &&
      (isStepUp || this.#isClientKnown);
    const asked = new Set(
      [
        this.#options.scope ?? scope ?? "",
        scope ?? "",
        isStepUp ? kept?.tokens.scope ?? "" : "",
      ].join(" ").split(" ").filter(Boolean),
    );
    const request = await SignIn.begin({
      url,
      metadataUrl,
      redirectUri,
      clientName: "Tool Server command line",
      registered: clientId !== undefined
        ? { clientId }
        : isKnown
        ? registration
        : undefined,
      ...(asked.size > 0 && { scope: [...asked].join(" ") }),
      isLasting: true,
      fetch: this.#quickFetch,
    });
    show(request.url);
    const tooLate = AbortSignal.timeout(PERSON_MILLISECONDS);
    const response = await receiver.response(
      request.state,
      AbortSignal.any([signal, tooLate]),
    );
    const tokens: Tokens = await SignIn.finish(
      request,
      response,
      this.#quickFetch,
    );
    const { state: _, codeVerifier: __, url: ___, ...rest } = request;
    const fresh: KeptSignIn = {
      url,
      registration: rest,
      tokens: { scope: [...asked].join(" "), ...tokens },
    };
    this.#kept = Promise.resolve(fresh);
    await file?.change(() => Promise.resolve(fresh));
  }

  /** Fetches as `fetch` does, in no more than half a minute. */
  readonly #quickFetch: typeof fetch = (input, init) =>
    fetch(input, {
      ...init,
      signal: AbortSignal.any([
        this.#options.signal,
        AbortSignal.timeout(METADATA_MILLISECONDS),
      ]),
    });
}

function withoutRefreshToken(kept: KeptSignIn): KeptSignIn {
  const { refreshToken: _, ...tokens } = kept.tokens;
  return { ...kept, tokens };
}

function wordsOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : `${message}`;
}
