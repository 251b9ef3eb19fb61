/**
 * The sign-in provider of a simulation: each code and each refresh token counts
 * once, and a second use ends all tokens of its sign-in (RFC 9700 §4.14.2).
 *
 * @module
 */
import type { Identity } from "../../src/core/caller.ts";
import {
  type Provider,
  UpstreamError,
  type UpstreamRequest,
  type UpstreamResponse,
  type UpstreamTokens,
} from "../../src/core/provider/provider.ts";
import { codeChallenge } from "../../src/core/oauth/pkce.ts";
import { PROVIDER_URL } from "../kit/fake_provider.ts";
import type { Issued, World } from "./world.ts";

/** The lifetime of an access token. */
const TOKEN_SECONDS = 300;

/** A sign-in at the provider, with all its tokens. */
interface SignIn {
  subject: string;
  refresh: string;
  isEnded: boolean;
  /** The process that was given its tokens, and when. */
  issued?: Issued;
}

interface Code {
  subject: string;
  challenge: string;
  nonce: string;
  isUsed: boolean;
}

export class StrictProvider implements Provider {
  readonly name = "Example ID";
  readonly apiUrl = `${PROVIDER_URL}/api`;
  readonly revokesOne = true;
  /** The people of sign-ins that ended because a token came a second time. */
  readonly #lost = new Set<string>();
  /** Sign-ins by their tokens. */
  readonly #signIns = new Map<string, SignIn>();
  readonly #codes = new Map<string, Code>();
  #count = 0;

  constructor(private readonly world: World) {}

  /** True if a sign-in of a person ended because a token came a second time. */
  isLost(subject: string): boolean {
    return this.#lost.has(subject);
  }

  authorizationUrl(request: UpstreamRequest): Promise<URL> {
    const url = new URL("/authorize", PROVIDER_URL);
    url.search = new URLSearchParams({
      redirect_uri: request.redirectUri,
      state: request.state,
      challenge: request.codeChallenge,
      nonce: request.nonce,
    }).toString();
    return Promise.resolve(url);
  }

  /** Signs in the person of a browser, and sends them back. */
  authorize(url: URL, subject: string): string {
    const { searchParams } = url;
    const code = `provider-code-${++this.#count}`;
    this.#codes.set(code, {
      subject,
      challenge: searchParams.get("challenge")!,
      nonce: searchParams.get("nonce")!,
      isUsed: false,
    });
    const back = new URL(searchParams.get("redirect_uri")!);
    back.searchParams.set("state", searchParams.get("state")!);
    back.searchParams.set("code", code);
    return back.href;
  }

  redeem({ code, codeVerifier, nonce }: UpstreamResponse) {
    return this.#answer("provider redeems", (issued) => {
      const known = this.#codes.get(code);
      if (
        !known || known.isUsed || known.nonce !== nonce ||
        known.challenge !== codeChallenge(codeVerifier)
      ) throw new UpstreamError("dead", "No such code");
      known.isUsed = true;
      const { subject } = known;
      const signIn = { subject, refresh: "", isEnded: false };
      return {
        tokens: this.#issue(signIn, issued),
        identity: identityOf(subject),
        authenticatedAt: Math.floor(Date.now() / 1000),
      };
    });
  }

  refresh(refreshToken: string): Promise<UpstreamTokens> {
    return this.#answer("provider refreshes", (issued) => {
      const signIn = this.#signIns.get(refreshToken);
      if (!signIn || signIn.isEnded) {
        throw new UpstreamError("dead", "No such token");
      }
      if (signIn.refresh !== refreshToken) {
        this.world.excuse("the provider's refresh token", signIn.issued!);
        this.#lost.add(signIn.subject);
        signIn.isEnded = true;
        throw new UpstreamError("dead", "Used before");
      }
      return this.#issue(signIn, issued);
    });
  }

  identify({ accessToken }: UpstreamTokens): Promise<Identity> {
    return this.#answer("provider identifies", () => {
      const signIn = this.#signIns.get(accessToken);
      if (!signIn || signIn.isEnded) {
        throw new UpstreamError("dead", "No such token");
      }
      return identityOf(signIn.subject);
    });
  }

  isAlive(accessToken: string): Promise<boolean> {
    return this.#answer(
      "provider looks",
      () => this.#signIns.get(accessToken)?.isEnded === false,
    );
  }

  revoke({ accessToken }: UpstreamTokens): Promise<void> {
    return this.#answer("provider revokes", () => {
      const signIn = this.#signIns.get(accessToken);
      if (signIn) signIn.isEnded = true;
    });
  }

  #issue(signIn: SignIn, issued: Issued): UpstreamTokens {
    signIn.issued = issued;
    const number = ++this.#count;
    const accessToken = `provider-access-${number}`;
    signIn.refresh = `provider-refresh-${number}`;
    this.#signIns.set(signIn.refresh, signIn);
    this.#signIns.set(accessToken, signIn);
    return {
      accessToken,
      tokenType: "Bearer",
      refreshToken: signIn.refresh,
      expiresAt: Math.floor(Date.now() / 1000) + TOKEN_SECONDS,
    };
  }

  async #answer<T>(label: string, act: (issued: Issued) => T): Promise<T> {
    const { process } = this.world;
    const issued = () => ({ process, at: this.world.seconds });
    try {
      return await this.world.exchange(label, () => act(issued()));
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      throw new UpstreamError("unavailable", "No answer");
    }
  }
}

function identityOf(subject: string): Identity {
  const email = `${subject}@example.com`;
  return { subject, name: subject, email, emailVerified: true };
}
