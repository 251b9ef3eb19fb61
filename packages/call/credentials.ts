/**
 * The credentials of the person at the terminal for one server: the stored
 * sign-in, refreshed if it expires soon, or a new sign-in in the browser.
 *
 * @module
 */
import {
  type Challenge,
  SignIn,
  type SignInError,
  type Tokens,
} from "../client/mod.ts";
import { Exit, Failure } from "./failure.ts";
import type { KeptSignIn, KeptSignInFile } from "./kept_sign_in.ts";
import { listenForRedirect } from "./receiver.ts";

/** A refusal because of a missing token or scope. */
export interface Refusal extends Challenge {
  isStepUp: boolean;
}

export interface CredentialsOptions {
  /** The URL of the MCP endpoint. */
  url: string;
  clientId?: string;
  scope?: string;
  /**
   * The file of the stored sign-in. Undefined if there is no directory for it.
   */
  file?: KeptSignInFile;
  /** The options that replace a sign-in; `--token` by default. */
  instead?: string;
  /** Shows the URL of a sign-in to the person. */
  show(url: string): void;
  /** Ends the wait for the person's sign-in. */
  signal: AbortSignal;
}

const METADATA_MILLISECONDS = 30_000;

/** A token with less than this lifetime is refreshed before use. */
const SOON_MILLISECONDS = 30_000;

const NOTHING = Promise.resolve(undefined);

/** The name of this command as a client. */
export const CLIENT_NAME = "Tool Server command line";

export class Credentials {
  #kept?: Promise<KeptSignIn | undefined>;
  /** True once the server has accepted the client's registration. */
  #isClientKnown = false;

  constructor(private readonly options: CredentialsOptions) {}

  /**
   * Returns the stored access token, refreshed if it expires soon. Undefined if
   * there is none.
   */
  async current(): Promise<string | undefined> {
    const { file } = this.options;
    const kept = await (this.#kept ??= file?.read() ?? NOTHING);
    const { expiresMilliseconds = Infinity, accessToken } = kept?.tokens ?? {};
    if (!accessToken || Date.now() + SOON_MILLISECONDS < expiresMilliseconds) {
      return accessToken;
    }
    await this.refresh(accessToken);
    return (await this.#kept)?.tokens.accessToken;
  }

  /**
   * Refreshes an expired token, unless another process has done so. Returns
   * false if the token cannot be refreshed.
   */
  async refresh(stale: string): Promise<boolean> {
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
        const { error: code, status } = error as SignInError;
        // The server has no sign-in any more. A new sign-in tells the person
        // what to do.
        if (status === 404 || status === 501) return kept;
        // The server has forgotten the client, which must register again.
        if (code === "invalid_client") return undefined;
        if (code !== "invalid_grant") throw error;
        this.#isClientKnown = true;
        return withoutRefreshToken(kept);
      }
    };
    const kept = await this.options.file?.change(change);
    this.#kept = Promise.resolve(kept);
    return isGood;
  }

  /** Signs in with the scopes of a challenge. @throws {Failure} */
  async signIn(refusal: Refusal): Promise<void> {
    try {
      await this.#signIn(refusal);
    } catch (cause) {
      const { message, status } = cause as SignInError;
      const hint = status === 404 || status === 501
        ? `. If it has no sign-in, give ${this.options.instead ?? "--token"}`
        : "";
      throw new Failure(
        `Signing in at ${this.options.url} failed: ${message}${hint}`,
        Exit.access,
        { cause },
      );
    }
  }

  /** @param isNew true to register a new client */
  async #signIn(refusal: Refusal, isNew = false): Promise<void> {
    const { isStepUp, scope, metadataUrl } = refusal;
    const { url, clientId, file, show, signal } = this.options;
    const kept = await this.#kept;
    const registration = isNew ? undefined : kept?.registration;
    await using receiver = listenForRedirect(registration?.redirectUri);
    const { redirectUri } = receiver;
    // A client is used again only if the server surely knows it. For an unknown
    // client the server shows an error to the person, and tells this command
    // nothing.
    const isKnown = registration?.redirectUri === redirectUri &&
      (isStepUp || this.#isClientKnown);
    const asked = new Set(
      [
        this.options.scope ?? scope ?? "",
        scope ?? "",
        isStepUp ? kept?.tokens.scope ?? "" : "",
      ].join(" ").split(" ").filter(Boolean),
    );
    const request = await SignIn.begin({
      url,
      metadataUrl,
      redirectUri,
      clientName: CLIENT_NAME,
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
    const response = await receiver.response(request.state, signal);
    // Some servers give a client no other scopes than those it was registered
    // for.
    const isLimited = response.get("error") === "invalid_scope";
    if (isLimited && isKnown && clientId === undefined) {
      return await this.#signIn(refusal, true);
    }
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

  /**
   * Deletes the stored sign-in, and revokes its tokens. Returns false if there
   * is none.
   *
   * @throws {Failure} if the server did not revoke the tokens
   */
  async revoke(): Promise<boolean> {
    let old: KeptSignIn | undefined;
    await this.options.file?.change((kept) => {
      old = kept;
      return Promise.resolve(undefined);
    });
    if (!old) return false;
    const { registration, tokens } = old;
    try {
      await SignIn.revoke(
        registration,
        tokens.refreshToken ?? tokens.accessToken,
        this.#quickFetch,
      );
    } catch (cause) {
      throw new Failure(
        `Forgot the sign-in at ${this.options.url}. Its tokens are not ` +
          `revoked: ${(cause as Error).message}. End the connection on the ` +
          "server's account page",
        Exit.server,
        { cause },
      );
    }
    return true;
  }

  /** `fetch` with a time limit of half a minute. */
  readonly #quickFetch: typeof fetch = (input, init) =>
    fetch(input, {
      ...init,
      signal: AbortSignal.any([
        this.options.signal,
        AbortSignal.timeout(METADATA_MILLISECONDS),
      ]),
    });
}

function withoutRefreshToken(kept: KeptSignIn): KeptSignIn {
  const { refreshToken: _, ...tokens } = kept.tokens;
  return { ...kept, tokens };
}
