/**
 * A plain OAuth 2 service on loopback, as strict as the strictest: exact redirect
 * URI, PKCE, codes and refresh tokens for one use, and the end of all tokens of a
 * grant when one is used twice (RFC 9700 §4.14.2).
 *
 * @module
 */
import { account } from "../../src/mod.ts";
import type { OAuthAccount, OAuthAccountOptions } from "../../src/mod.ts";
import { codeChallenge } from "../../src/core/oauth/pkce.ts";
import { BASE_URL } from "./server.ts";

/** The grant of one person to our application. */
export interface ServiceGrant {
  account: string;
  /** The client to which it was given. */
  client: string;
  /** The code from which it was made. */
  code: string;
  scope: string;
  /** The tokens that are good now. */
  access: Set<string>;
  refresh?: string;
  /** The refresh token that was used last. */
  before?: string;
  isEnded: boolean;
}

interface ServiceCode {
  grant: ServiceGrant;
  challenge: string;
  redirectUri: string;
  isUsed: boolean;
}

const SECRET = "our-secret";

/** The rules of a service, without its socket. */
export abstract class TokenRules {
  /** Its address. */
  abstract readonly origin: string;
  /** The account that is signed in at the service, in every browser. */
  account = "ada@acme";
  /** The lifetime of an access token, in seconds; 0 for none. */
  lifetime = 3600;
  rotates = true;
  /** True if a refresh token counts again until its successor was used. */
  hasGrace = false;
  /** The error with which the service sends people back, if any. */
  refusal?: string;
  /** The scopes that a person allows, and the service names, if not all. */
  gives?: string;
  /** Members that are added to the answer to an authorization request. */
  extra: Record<string, string> = {};
  /** Answers in place of the service, before it does anything. */
  answer?: (
    request: Request,
    path: string,
  ) => Response | undefined | Promise<Response | undefined>;
  /** Answers in place of the service, after it has done all: what it said is lost. */
  lose?: (
    path: string,
  ) => Response | undefined | Promise<Response | undefined>;
  /** Every request, by its path. */
  readonly asked: string[] = [];
  /** The authorization requests. */
  readonly requests: URLSearchParams[] = [];
  readonly grants: ServiceGrant[] = [];
  /** The number of codes and refresh tokens that came a second time. */
  reused = 0;
  readonly revoked: string[] = [];
  readonly #codes = new Map<string, ServiceCode>();
  readonly #refresh = new Map<string, ServiceGrant>();
  #count = 0;

  /** The origin of the server to which it sends people back. */
  redirectsTo = BASE_URL;
  /** Our application there, which an operator may change. */
  clientId: string;
  /** Other clients that it knows, with the same secret. */
  readonly clients = new Set<string>();

  constructor(readonly name = "crm") {
    this.clientId = `app-of-${name}`;
  }

  /** The settings of our application there. */
  get environment(): Record<string, string> {
    const prefix = `ACCOUNT_${this.name.toUpperCase()}`;
    return {
      [`${prefix}_CLIENT_ID`]: this.clientId,
      [`${prefix}_CLIENT_SECRET`]: SECRET,
    };
  }

  /** Declares it; its API names the account. */
  declare(options: Partial<OAuthAccountOptions> = {}): OAuthAccount {
    const { origin } = this;
    return account(this.name, {
      api: `${origin}/api`,
      authorize: `${origin}/authorize`,
      token: `${origin}/token`,
      revoke: `${origin}/revoke`,
      title: "Example CRM",
      scopes: ["read"],
      async check(fetch) {
        const response = await fetch("/me");
        return response.ok ? await response.text() : response;
      },
      ...options,
    });
  }

  /** Answers a request. */
  async serve(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { pathname } = url;
    this.asked.push(pathname);
    const own = await this.answer?.(request, pathname);
    if (own) return own;
    const done = await this.#answer(request, url);
    return await this.lose?.(pathname) ?? done;
  }

  async #answer(request: Request, { pathname, searchParams }: URL) {
    if (pathname === "/authorize") return this.#authorize(searchParams);
    const bearer = request.headers.get("authorization") ?? "";
    if (pathname.startsWith("/api/")) return this.#api(bearer, pathname);
    const form = new URLSearchParams(await request.text());
    const client = [this.clientId, ...this.clients].find((it) =>
      bearer ===
        `Basic ${
          btoa(`${encodeURIComponent(it)}:${encodeURIComponent(SECRET)}`)
        }`
    );
    if (client === undefined) return refuse("invalid_client", 401);
    if (pathname === "/token") return this.#token(form, client);
    if (pathname !== "/revoke") return new Response(null, { status: 404 });
    const token = form.get("token") ?? "";
    this.revoked.push(token);
    const grant = this.#refresh.get(token) ??
      this.grants.find(({ access }) => access.has(token));
    if (grant) end(grant);
    return new Response();
  }

  #authorize(query: URLSearchParams): Response {
    this.requests.push(query);
    const redirectUri = `${this.redirectsTo}/connect/${this.name}/callback`;
    const challenge = query.get("code_challenge");
    const client = query.get("client_id") ?? "";
    const isRight = (client === this.clientId || this.clients.has(client)) &&
      query.get("redirect_uri") === redirectUri && challenge &&
      query.get("code_challenge_method") === "S256" &&
      query.get("response_type") === "code";
    if (!isRight) return new Response("wrong request", { status: 400 });
    const back = new URL(redirectUri);
    back.searchParams.set("state", query.get("state")!);
    if (this.refusal) back.searchParams.set("error", this.refusal);
    else {
      const code = this.#next("code");
      const grant: ServiceGrant = {
        account: this.account,
        client,
        code,
        scope: this.gives ?? query.get("scope") ?? "",
        access: new Set(),
        isEnded: false,
      };
      this.grants.push(grant);
      this.#codes.set(code, { grant, challenge, redirectUri, isUsed: false });
      back.searchParams.set("code", code);
    }
    for (const [name, text] of Object.entries(this.extra)) {
      back.searchParams.set(name, text);
    }
    return new Response(null, {
      status: 302,
      headers: { location: back.href },
    });
  }

  #token(form: URLSearchParams, client: string): Response {
    if (form.get("grant_type") === "authorization_code") {
      const code = this.#codes.get(form.get("code") ?? "");
      const isRight = code && !code.grant.isEnded &&
        code.grant.client === client &&
        code.redirectUri === form.get("redirect_uri") &&
        code.challenge === codeChallenge(form.get("code_verifier") ?? "");
      if (code?.isUsed) {
        this.reused++;
        end(code.grant);
      }
      if (!isRight || code.isUsed) return refuse("invalid_grant");
      code.isUsed = true;
      return this.#issue(code.grant);
    }
    const token = form.get("refresh_token") ?? "";
    const grant = this.#refresh.get(token);
    if (!grant || grant.isEnded || grant.client !== client) {
      return refuse("invalid_grant");
    }
    const isRepeat = this.hasGrace && grant.before === token;
    if (grant.refresh !== token && !isRepeat) {
      this.reused++;
      end(grant);
      return refuse("invalid_grant");
    }
    grant.before = token;
    return this.#issue(grant);
  }

  #issue(grant: ServiceGrant): Response {
    const access = this.#next("access");
    grant.access.add(access);
    const hasNext = this.lifetime > 0 && (this.rotates || !grant.refresh);
    if (hasNext) {
      grant.refresh = this.#next("refresh");
      this.#refresh.set(grant.refresh, grant);
    }
    return Response.json({
      access_token: access,
      token_type: "bearer",
      ...this.lifetime > 0 && { expires_in: this.lifetime },
      ...hasNext && { refresh_token: grant.refresh },
      scope: grant.scope,
    });
  }

  #api(bearer: string, path: string): Response {
    const token = bearer.replace(/^Bearer /, "");
    const grant = this.grants.find(({ access }) => access.has(token));
    return grant
      ? new Response(
        path === "/api/me" ? grant.account : `${grant.account} ${token}`,
      )
      : new Response("no such token", { status: 401 });
  }

  #next(kind: string): string {
    return `${this.name}-${kind}-${++this.#count}`;
  }
}

/** The service on a socket. */
export class TokenService extends TokenRules implements AsyncDisposable {
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => this.serve(request),
  );

  get origin(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** Ends all tokens of a grant. */
function end(grant: ServiceGrant): void {
  grant.isEnded = true;
  grant.access.clear();
}

function refuse(error: string, status = 400): Response {
  return Response.json({ error }, { status });
}
