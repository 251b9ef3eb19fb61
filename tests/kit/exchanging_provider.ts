/**
 * An OpenID provider that exchanges its access tokens for those of a service
 * behind it, as strictly as Keycloak (RFC 8693) or as Microsoft (on behalf of);
 * and that service.
 *
 * @module
 */
import type Provider from "oidc-provider";
import { account } from "../../src/mod.ts";
import type { UpstreamAccount, UpstreamAccountOptions } from "../../src/mod.ts";
import {
  type OpenIdProvider,
  startOpenIdProvider,
} from "./open_id_provider.ts";
import { BASE_URL } from "./server.ts";

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/** The scope of our own application, without which Microsoft exchanges nothing. */
export const OWN_SCOPE = "tool-server/.default";
/** The scope that the API of the service wants. */
export const MAIL = "Mail.Read";

/** The parameters of an exchange, by which a test answers in its place. */
type Form = Record<string, string | undefined>;

export class ExchangingProvider implements AsyncDisposable {
  /** The forms of all exchanges. */
  readonly exchanges: Form[] = [];
  /** The lifetime of the service's tokens, in seconds; 0: the answer has none. */
  lifetime = 3600;
  /** Answers an exchange in place of the provider: a status and a body. */
  answer?: (
    form: Form,
  ) => { status: number; body: unknown } | undefined | Promise<undefined>;
  /** The access tokens that the service has seen, by the path. */
  readonly seen: [path: string, token: string][] = [];
  /** True if the service takes no token any more. */
  refuses = false;
  /** The tokens that the service takes no longer. */
  readonly #revoked = new Set<string>();
  provider!: OpenIdProvider;
  #own!: Provider;
  readonly #api = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => this.#serve(request),
  );

  private constructor(readonly isMicrosoft: boolean) {}

  /** Starts one for a server at the usual address. */
  static async start(
    { isMicrosoft = false, key, ttlSeconds }: {
      isMicrosoft?: boolean;
      key?: string;
      ttlSeconds?: number;
    } = {},
  ): Promise<ExchangingProvider> {
    const made = new ExchangingProvider(isMicrosoft);
    const grantType = GRANT_TYPE +
      (isMicrosoft ? "jwt-bearer" : "token-exchange");
    made.provider = await startOpenIdProvider(BASE_URL, {
      key,
      ttlSeconds,
      scopes: [OWN_SCOPE],
      grantTypes: [grantType],
      extend: (own: Provider) => {
        made.#own = own;
        own.registerGrantType(
          grantType,
          async (ctx: Parameters<typeof made.exchange>[0]) =>
            await made.exchange(ctx),
          [
            "assertion",
            "requested_token_use",
            "scope",
            "subject_token",
            "subject_token_type",
            "requested_token_type",
            "audience",
            "resource",
          ],
        );
      },
    });
    return made;
  }

  get issuer(): string {
    return this.provider.issuer;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#api.addr.port}`;
  }

  /** The settings of a server that signs people in there. */
  get environment(): Record<string, string> {
    return {
      ...this.provider.environment,
      ...this.isMicrosoft && { OAUTH_PROVIDER: "microsoft" },
      OAUTH_PROVIDER_SCOPES: `openid profile email offline_access ${OWN_SCOPE}`,
    };
  }

  /** Declares the service. */
  declare(options: Partial<UpstreamAccountOptions> = {}): UpstreamAccount {
    return account("mail", {
      from: "upstream",
      api: `${this.origin}/api`,
      title: "Example Mail",
      scopes: [MAIL],
      ...!this.isMicrosoft && { audience: "mail" },
      ...options,
    });
  }

  /** Revokes the tokens that the service has seen. */
  revoke(): void {
    for (const [, token] of this.seen) this.#revoked.add(token);
  }

  /** Answers an exchange. */
  async exchange(
    // deno-lint-ignore no-explicit-any -- The package has no types.
    ctx: any,
  ): Promise<void> {
    const { params, client } = ctx.oidc;
    const form: Form = { ...params };
    this.exchanges.push(form);
    const own = await this.answer?.(form);
    if (own) {
      ctx.status = own.status;
      ctx.body = own.body;
      return;
    }
    const refuse = (error: string) => {
      ctx.status = 400;
      ctx.body = { error };
    };
    const isForm = this.isMicrosoft
      ? form.requested_token_use === "on_behalf_of" && form.scope &&
        form.audience === undefined
      : form.subject_token_type === ACCESS_TOKEN &&
        form.requested_token_type === ACCESS_TOKEN &&
        form.audience === "mail";
    if (!isForm) return refuse("invalid_request");
    const text = this.isMicrosoft ? form.assertion : form.subject_token;
    // deno-lint-ignore no-explicit-any -- The package has no types.
    const { AccessToken } = this.#own as any;
    const subject = await AccessToken.find(text ?? "");
    const isOurs = subject?.isValid && subject.clientId === client.clientId &&
      // Microsoft wants a token whose audience is the application itself.
      (!this.isMicrosoft || subject.scopes.has(OWN_SCOPE));
    if (!isOurs) {
      return refuse(this.isMicrosoft ? "invalid_grant" : "invalid_request");
    }
    if (form.scope !== MAIL) return refuse("invalid_scope");
    const token = new AccessToken({
      accountId: subject.accountId,
      grantId: subject.grantId,
      client,
      scope: form.scope,
      gty: "exchange",
    });
    ctx.body = {
      access_token: await token.save(),
      token_type: "Bearer",
      issued_token_type: ACCESS_TOKEN,
      ...this.lifetime > 0 && { expires_in: this.lifetime },
      // No one asked for one, and no one keeps it.
      refresh_token: "refresh-token-of-the-service",
    };
  }

  async #serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const token = (request.headers.get("authorization") ?? "").slice(7);
    this.seen.push([pathname, token]);
    // deno-lint-ignore no-explicit-any -- The package has no types.
    const found = await (this.#own as any).AccessToken.find(token);
    const isGood = !this.refuses && !this.#revoked.has(token) &&
      found?.isValid && found.scopes.has(MAIL);
    if (!isGood) return new Response("no such token", { status: 401 });
    return new Response(`mail of ${found.accountId}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#api.shutdown();
    await this.provider[Symbol.asyncDispose]();
  }
}
