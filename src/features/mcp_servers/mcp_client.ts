/**
 * This server as an OAuth client of other MCP servers' authorization servers:
 * by our client ID metadata document, dynamic registration, or a configured
 * client. Checks `iss` (RFC 9207) and sends resource indicators (RFC 8707).
 *
 * @module
 * @see MCP 2026-07-28, Authorization
 */
import type { OAuthAccount } from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import { LatestMap } from "../../core/cache.ts";
import { documentUrl } from "../../core/oauth/client.ts";
import { buildAuthorizationUrl } from "../../core/provider/authorization_url.ts";
import {
  metadataReader,
  OAUTH_ENDPOINTS,
  type ProviderMetadata,
} from "../../core/provider/discovery.ts";
import { oauthClient } from "../../core/provider/oauth_client.ts";
import {
  misbehaved,
  UpstreamError,
  type UpstreamRequest,
  type UpstreamResponse,
  type UpstreamTokens,
} from "../../core/provider/provider.ts";
import { upstreamFetch } from "../../core/provider/upstream_fetch.ts";
import {
  makeOncePerServer,
  type OpenedServer,
} from "../../core/store/opened_server.ts";
import {
  type AccountClient,
  checkStorable,
  type Departing,
  nameInClaims,
  type RedeemedAccount,
  type SignInAt,
  type SignInServer,
} from "../accounts/account_client.ts";
import { applicationAt } from "../accounts/account_clients.ts";
import type { AccountApplication } from "../accounts/account_quirks.ts";
import { guardedFetch } from "./guarded_fetch.ts";
import {
  findMcpResource,
  isSameIssuer,
  type McpResource,
} from "./mcp_resource.ts";
import {
  type ClientPlace,
  clientPrint,
  type RegisteredClient,
  type RegistrationId,
  registrationStore,
} from "./registrations.ts";

/** The time for which protected resource metadata is cached. */
const FRESH_MILLISECONDS = 600_000;

/** The maximum number of cached authorization servers of one service. */
const MAX_ISSUERS = 20;

/**
 * The client and issuer of tokens, and the only resource to which they are
 * sent.
 */
interface Issuance extends RegistrationId {
  clientId: string;
  resource: string;
}

const placeOf = (by: Issuance): ClientPlace => ({
  issuer: by.issuer,
  redirectUri: by.redirectUri,
  client: clientPrint(by),
});

interface IssuedTokens extends UpstreamTokens {
  by: Issuance;
}

const registrationsOf = makeOncePerServer(registrationStore);

export class McpAccountClient implements Omit<AccountClient, "id"> {
  readonly #fetch;
  readonly #registrations;
  readonly #found = new LatestMap<Promise<McpResource>>(1);
  readonly #servers = new LatestMap<() => Promise<ProviderMetadata>>(
    MAX_ISSUERS,
  );

  constructor(
    private readonly service: OAuthAccount,
    private readonly server: OpenedServer,
    fetcher = guardedFetch(service),
  ) {
    this.#fetch = upstreamFetch(fetcher);
    this.#registrations = registrationsOf(server);
  }

  async findServer(departing?: Departing): Promise<SignInServer> {
    const { issuer } = await this.#resource();
    const server = await this.#at({ issuer });
    const found = {
      issuer,
      authorizationEndpoint: server.authorization_endpoint,
    };
    if (!departing) return found;
    const { redirectUri, wider } = departing;
    const { asked } = await this.#scopes(server, wider);
    const application = await this.#application(
      server,
      redirectUri,
      asked,
      wider,
    );
    return {
      ...found,
      client: clientPrint(application),
      ...wider.length > 0 && { wider },
    };
  }

  async canRevoke(tokens?: UpstreamTokens): Promise<boolean> {
    const { by } = (tokens ?? {}) as Partial<IssuedTokens>;
    const { server } = await this.#issuer(by);
    return server.revocation_endpoint !== undefined;
  }

  async authorizationUrl(
    { at, ...request }: UpstreamRequest & SignInAt,
  ): Promise<URL> {
    const { resource, issuer } = await this.#resource();
    const server = await this.#at(at ?? { issuer });
    const { asked, isOffline } = await this.#scopes(
      server,
      at?.isNarrow ? [] : at?.wider,
    );
    const application = await this.#departed(server, { at, ...request }, asked);
    const { clientId, scopes: known = asked } = application;
    return buildAuthorizationUrl({
      endpoint: server.authorization_endpoint,
      clientId,
      // Only registered scopes: the MCP server may have named more since.
      scopes: asked.filter((it) => known.includes(it)),
      extra: { resource },
      // Without `prompt=consent`, `offline_access` is ignored (OpenID Connect
      // §11).
      prompt: isOffline ? "consent" : undefined,
    }, request);
  }

  async checkIssuer(
    answered: string | undefined,
    at?: SignInServer,
  ): Promise<void> {
    const server = await this.#at(at ?? await this.#resource());
    // Any client ID will do to compare issuers, but there must be one.
    const client = oauthClient(this.#fetch, { clientId: this.service.name });
    await client.checkIssuer(server, answered);
  }

  async redeem(
    { at, ...response }: UpstreamResponse & SignInAt,
  ): Promise<RedeemedAccount> {
    const { resource, issuer, scopes } = await this.#resource();
    const server = await this.#at(at ?? { issuer });
    const { redirectUri } = response;
    const departed = { at, redirectUri };
    const application = await this.#departed(server, departed, scopes);
    const client = this.#client(application, resource);
    const { clientId } = application;
    const by = { issuer: server.issuer, redirectUri, clientId, resource };
    const { tokens, idToken } = await this.#forgetting(
      by,
      () => client.redeem(server, response),
    );
    return {
      tokens: { ...tokens, by } as IssuedTokens,
      async findAccount() {
        if (idToken === undefined || !server.jwks_uri) return {};
        const claims = await client.verify(server, idToken, {
          nonce: response.nonce,
          isIssuer: (named) => named === server.issuer,
        });
        return { id: claims.sub, label: nameInClaims(claims) ?? claims.sub };
      },
    };
  }

  async refresh(
    refreshToken: string,
    held: UpstreamTokens,
  ): Promise<UpstreamTokens> {
    const { by } = held as IssuedTokens;
    const { server, client } = await this.#issuer(by);
    const { tokens } = await this.#forgetting(
      by,
      () => client.refresh(server, refreshToken),
    );
    const issued: IssuedTokens = { ...tokens, by };
    const { name } = this.service;
    return await checkStorable(issued, { refreshToken, name, client: this });
  }

  async revoke(tokens: UpstreamTokens): Promise<void> {
    const { server, client } = await this.#issuer((tokens as IssuedTokens).by);
    await client.revoke(server, tokens);
  }

  /** Finds the MCP server's protected resource metadata, which may change. */
  #resource(): Promise<McpResource> {
    const { api } = this.service;
    const known = this.#found.get(api);
    if (known) return known;
    const found = this.#findResource();
    this.#found.set(api, found, FRESH_MILLISECONDS);
    found.catch(() => this.#found.delete(api));
    return found;
  }

  async #findResource(): Promise<McpResource> {
    const found = await findMcpResource(this.#fetch, this.service);
    // A guess counts only if it is right: all may be away for a moment.
    if (found.isGuess) await this.#read(found.issuer);
    return found;
  }

  /**
   * Reads an authorization server's metadata.
   *
   * @throws {UpstreamError} if the server lacks PKCE, may not redeem the codes
   * of its authorization endpoint, or has another endpoint than the one to
   * which a person was sent
   */
  async #at(at: SignInServer): Promise<ProviderMetadata> {
    const { issuer, authorizationEndpoint: sentTo } = at;
    const server = await this.#read(issuer);
    const { authorization_endpoint: page } = server;
    if (![server.code_challenge_methods_supported].flat().includes("S256")) {
      throw misbehaved(`${issuer} does not offer PKCE with S256`);
    }
    if (sentTo !== undefined && sentTo !== page) {
      throw misbehaved(`${issuer} has another authorization_endpoint now`);
    }
    if (!await this.#mayRedeem(server)) {
      const { host } = new URL(page);
      throw misbehaved(
        `${issuer} sends people to ${host}, and their codes elsewhere: if ` +
          `that is right, name the issuer in mcpServer("${this.service.name}")`,
      );
    }
    return server;
  }

  async #read(issuer: string): Promise<ProviderMetadata> {
    let read = this.#servers.get(issuer);
    if (!read) {
      const isSame = (named: string) => isSameIssuer(named, issuer);
      read = metadataReader(this.#fetch, issuer, isSame, OAUTH_ENDPOINTS);
      this.#servers.set(issuer, read);
    }
    return await read();
  }

  /**
   * True if the token and revocation endpoints are on the host of the
   * authorization endpoint, above or below it, or are those in that host's
   * metadata. Otherwise an attacker's server could name the page of an honest
   * one, and get the codes that the honest one issues (RFC 9700 §4.4).
   */
  async #mayRedeem(server: ProviderMetadata): Promise<boolean> {
    const { authorization_endpoint: page, issuer } = server;
    // With the wrong `iss`, the code is not redeemed.
    const isChecked =
      server.authorization_response_iss_parameter_supported === true;
    if (isChecked || isSameIssuer(issuer, this.service.issuer ?? "")) {
      return true;
    }
    const at = new URL(page);
    const targets = ["token_endpoint", "revocation_endpoint"] as const;
    const others = targets.filter((name) =>
      new URL(server[name] ?? page).host !== at.host
    );
    if (others.length === 0) return true;
    const { isSameSite } = await import("../../core/net/site.ts");
    const away = others.filter((name) =>
      !isSameSite(new URL(server[name]!), at)
    );
    if (away.length === 0) return true;
    const own = await this.#read(at.origin).catch((error) => {
      if (error instanceof UpstreamError && error.kind === "misbehaved") {
        return undefined;
      }
      throw error;
    });
    return away.every((name) => own?.[name] === server[name]);
  }

  /**
   * Finds the authorization server that issued tokens, and our client at it.
   */
  async #issuer(by: Issuance | undefined) {
    if (!by) throw this.#dead();
    const server = await this.#at({ issuer: by.issuer });
    const application = await this.#applicationBy(placeOf(by));
    if (!application) throw this.#dead();
    return { server, client: this.#client(application, by.resource) };
  }

  #dead(): UpstreamError {
    return new UpstreamError(
      "dead",
      `${this.service.name} knows this server by another name now`,
    );
  }

  /**
   * Makes our client. It sends `resource` with each token request (RFC 8707).
   */
  #client(application: AccountApplication, resource: string) {
    return oauthClient((url, init = {}) => {
      const form = new URLSearchParams(String(init.body ?? ""));
      if (!form.has("grant_type")) return this.#fetch(url, init);
      form.set("resource", resource);
      return this.#fetch(url, { ...init, body: form });
    }, application);
  }

  /** Lists the scopes to ask a person for. */
  async #scopes(
    { scopes_supported }: ProviderMetadata,
    wider: readonly string[] = [],
  ) {
    const { scopes } = await this.#resource();
    const isOffline = scopes_supported.includes("offline_access");
    const extra = isOffline ? ["offline_access"] : [];
    const own = this.service.scopes ?? scopes;
    const asked = [...new Set([...own, ...wider, ...extra])];
    return { asked, isOffline };
  }

  /**
   * Finds the client with which a person was sent to an authorization server:
   * another may be the current one by now.
   */
  async #departed(
    server: ProviderMetadata,
    { at, redirectUri }: SignInAt & { redirectUri: string },
    scopes: readonly string[],
  ): Promise<RegisteredClient> {
    const client = at?.client;
    if (client === undefined) {
      return await this.#application(server, redirectUri, scopes);
    }
    const { issuer } = server;
    const found = await this.#applicationBy({ issuer, redirectUri, client });
    if (!found) throw this.#dead();
    return found;
  }

  /** Finds our client at an authorization server, or registers one. */
  async #application(
    server: ProviderMetadata,
    redirectUri: string,
    scopes: readonly string[],
    wider: readonly string[] = [],
  ): Promise<RegisteredClient> {
    const own = this.#ownAt(server);
    if (own) return own;
    const document = clientDocumentUrl(redirectUri);
    if (server.client_id_metadata_document_supported === true && document) {
      return { clientId: document };
    }
    const id = { issuer: server.issuer, redirectUri };
    return await this.#registrations.find(id, () => {
      if (server.registration_endpoint) {
        return { server, fetch: this.#fetch, scopes };
      }
      const setting = accountSetting(this.service, "CLIENT_ID");
      throw misbehaved(
        `${server.issuer} registers no clients: set ${setting}, and the ` +
          `issuer of mcpServer("${this.service.name}")`,
      );
    }, [...this.service.scopes ?? [], ...wider]);
  }

  /**
   * Returns the client in the settings. Undefined for other issuers than the
   * service's `issuer`: the MCP server may name any issuer (RFC 9728 §7.6).
   */
  #ownAt(
    { issuer }: Pick<RegistrationId, "issuer">,
  ): AccountApplication | undefined {
    return isSameIssuer(issuer, this.service.issuer ?? "")
      ? applicationAt(this.service, this.server)
      : undefined;
  }

  /** Finds one of our clients. Undefined if it is gone. */
  async #applicationBy(
    place: ClientPlace,
  ): Promise<RegisteredClient | undefined> {
    const clientId = clientDocumentUrl(place.redirectUri);
    const document = clientId === undefined ? undefined : { clientId };
    return [this.#ownAt(place), document]
      .find((it) => it && clientPrint(it) === place.client) ??
      await this.#registrations.kept(place);
  }

  /**
   * Runs a request, and deletes our registration if the authorization server
   * goes on not knowing it.
   */
  async #forgetting<T>(by: Issuance, act: () => Promise<T>): Promise<T> {
    try {
      const done = await act();
      this.#registrations.accept(placeOf(by));
      return done;
    } catch (error) {
      const isUnknown = error instanceof UpstreamError &&
        error.code === "invalid_client";
      if (!isUnknown || this.#ownAt(by)) throw error;
      const isGone = await this.#registrations.refuse(placeOf(by));
      // Without the code: no operator has to set anything.
      if (!isGone) throw misbehaved(error.message);
      throw this.#dead();
    }
  }
}

/**
 * Returns the URL of our client ID metadata document. Undefined if it is not
 * public.
 */
export function clientDocumentUrl(redirectUri: string): string | undefined {
  return documentUrl(new URL("client.json", redirectUri).href)?.href;
}
