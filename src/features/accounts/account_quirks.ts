/**
 * Deviations of known services from OAuth and OpenID Connect.
 *
 * @module
 */
import type { OAuthAccount } from "../../authoring/account.ts";
import type { AccountPreset } from "../../authoring/account_presets.ts";
import { isObject } from "../../core/json.ts";
import {
  isMicrosoftIssuer,
  isTenantIssuer,
} from "../../core/provider/microsoft.ts";
import { gitHubRevocation } from "../../core/provider/github.ts";
import type { UpstreamTokens } from "../../core/provider/provider.ts";
import {
  readObject,
  type UpstreamFetch,
} from "../../core/provider/upstream_fetch.ts";

/** Our client credentials at a service. */
export interface AccountApplication {
  clientId: string;
  /** Undefined for a public client. */
  clientSecret?: string;
}

interface Quirks {
  /** The `iss` of authorization responses, for a service without metadata. */
  issuer?: string;
  /** The separator of scopes; a space by default. */
  separator?: string;
  /** The client authentication methods of the service. */
  methods?: string[];
  /** Changes requests to the service, and its responses. */
  fetch(send: UpstreamFetch): UpstreamFetch;
  isMetadataIssuer?(named: string): boolean;
  isTokenIssuer?(named: string, issuer: string, tenant?: unknown): boolean;
  /** True if the service cannot revoke tokens. */
  cannotRevoke?: boolean;
  /**
   * True if the access token must be revoked too, even if there is a refresh
   * token.
   */
  revokesAccessToken?: boolean;
  /** Revokes tokens by the service's proprietary API. */
  revoke?(
    fetchUpstream: UpstreamFetch,
    application: AccountApplication,
    tokens: UpstreamTokens,
  ): Promise<void>;
}

const NONE: Quirks = { fetch: (send) => send };

const QUIRKS: Readonly<
  Record<AccountPreset, (service: OAuthAccount) => Partial<Quirks>>
> = {
  github: ({ api }) => ({
    issuer: api === "https://api.github.com"
      ? "https://github.com/login/oauth"
      : undefined,
    methods: ["client_secret_post"],
    async revoke(fetchUpstream, { clientId, clientSecret = "" }, tokens) {
      const revoke = gitHubRevocation(fetchUpstream, {
        apiUrl: api.replace(/\/$/, ""),
        clientId,
        clientSecret,
      });
      await revoke(tokens);
    },
  }),
  google: () => ({
    isTokenIssuer: (named, issuer) =>
      issuer === named || issuer === "accounts.google.com",
  }),
  linear: () => ({ separator: ",", methods: ["client_secret_post"] }),
  microsoft: ({ issuer = "" }) => ({
    cannotRevoke: true,
    isMetadataIssuer: (named) => isMicrosoftIssuer(issuer, named),
    isTokenIssuer: isTenantIssuer,
  }),
  notion: () => ({
    methods: ["client_secret_basic"],
    revokesAccessToken: true,
    fetch: (send) => (url, init) => send(url, asJson(init)),
  }),
  slack: () => ({
    methods: ["client_secret_post"],
    revokesAccessToken: true,
    fetch: (send) => async (url, init) => {
      const response = await send(url, init);
      return url.includes("/oauth.")
        ? await ofPerson(response, new URL(url).host)
        : response;
    },
  }),
};

/** Finds the deviations of a service; none for an unknown service. */
export function quirksOf(service: OAuthAccount): Quirks {
  const known = Object.hasOwn(QUIRKS, service.name)
    ? QUIRKS[service.name as AccountPreset]
    : undefined;
  return { ...NONE, ...known?.(service) };
}

/** Converts a form body to the JSON that Notion expects. */
function asJson(init: RequestInit = {}): RequestInit {
  if (init.body === undefined || init.body === null) return init;
  const headers = new Headers(init.headers);
  headers.set("content-type", "application/json");
  const form = new URLSearchParams(String(init.body));
  return { ...init, headers, body: JSON.stringify(Object.fromEntries(form)) };
}

/**
 * Moves the person's token to the top of Slack's token response, where a bot's
 * token may be.
 */
async function ofPerson(response: Response, host: string): Promise<Response> {
  const answer = await readObject(response.clone(), host);
  const person = isObject(answer.authed_user) ? answer.authed_user : {};
  const own = { ...answer, ...person, token_type: "Bearer" };
  const { access_token } = own as { access_token?: unknown };
  return access_token === undefined
    ? response
    : Response.json(own, { status: response.status });
}
