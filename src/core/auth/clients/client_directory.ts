/**
 * Finds OAuth clients by their client ID, and authenticates them.
 *
 * @module
 */
import type { JSONWebKeySet } from "jose";
import { DocumentError } from "./fetch_bounds.ts";
import { HttpError, OAuthError } from "../../errors.ts";
import type { Client } from "../../oauth/client.ts";
import {
  checkClientSecret,
  checkUsesPrivateKeyJwt,
  isUnknownKey,
  parseClientCredentials,
  verifyClientAssertion,
} from "../../oauth/client_authentication.ts";
import {
  checkDocumentUrl,
  parseMetadataDocument,
  unsealClient,
} from "../../oauth/sealed_client.ts";
import { isDocumentId, isSealedClientId } from "../../oauth/client_id.ts";
import type { Parameters } from "../../oauth/parameters.ts";
import type { AssertionStore, SingleUse } from "../../store/once.ts";
import { recent } from "../../store/recent.ts";
import type { SecretStore } from "../../store/secrets.ts";
import type { DocumentStore } from "../../store/documents.ts";
import { type Clock, now } from "../../clock.ts";

export type ClientDirectory = ReturnType<typeof clientDirectory>;

/**
 * Makes the directory of OAuth clients: those in the settings, dynamically
 * registered ones, and those with a client ID metadata document.
 */
export function clientDirectory(
  parts: {
    baseUrl: string;
    secrets: SecretStore;
    documents: DocumentStore;
    assertions: AssertionStore;
    clock: Clock;
    /** The clients of `OAUTH_CLIENTS`. */
    configured: readonly Client[];
    metadataDocuments: { enabled: boolean; allowedDomains: readonly string[] };
  },
) {
  const { baseUrl, secrets, documents, clock, metadataDocuments } = parts;
  const byId = new Map(
    parts.configured.map((client) => [client.clientId, client]),
  );

  async function read(document: Promise<unknown>): Promise<unknown> {
    try {
      return await document;
    } catch (cause) {
      if (cause instanceof HttpError) throw cause;
      // Without details, by which anyone could map this server's network.
      throw cause instanceof DocumentError && cause.isPermanent
        ? new OAuthError(
          "invalid_client",
          "The address that the client names must answer with a JSON " +
            "document of at most 16 KiB, without a redirect",
          { cause },
        )
        : new OAuthError(
          "temporarily_unavailable",
          "The client's metadata document could not be fetched",
          { cause, situation: "client document" },
        );
    }
  }

  /**
   * Finds a client. With `stale`, uses a cached metadata document if it cannot
   * be fetched again.
   *
   * @throws {OAuthError} `invalid_client` if no client has the ID,
   * `temporarily_unavailable` if its metadata document cannot be read
   */
  async function find(
    clientId: string,
    options?: { stale?: boolean; network?: string },
  ): Promise<Client> {
    const own = byId.get(clientId);
    if (own) return own;
    if (metadataDocuments.enabled && isDocumentId(clientId)) {
      checkDocumentUrl(clientId, metadataDocuments.allowedDomains);
      const document = await read(documents.find(clientId, options));
      return parseMetadataDocument(clientId, document, now(clock));
    }
    const client = await findRegistered(clientId);
    if (client) return client;
    throw new OAuthError(
      "invalid_client",
      "client_id must be one that this server has registered",
    );
  }

  const registered = recent(async (clientId) =>
    await unsealClient(await secrets.find("client-ids"), clientId)
  );

  async function findRegistered(clientId: string): Promise<Client | undefined> {
    return isSealedClientId(clientId)
      ? await registered.find(clientId)
      : undefined;
  }

  /**
   * Fetches a client's JWKS again. Undefined if the client registered its keys
   * inline (`jwks`), not at a URL.
   */
  async function renewKeys(
    { clientId, domain, metadata: { jwks_uri } }: Client,
    network?: string,
  ): Promise<unknown> {
    if (jwks_uri !== undefined) {
      return await read(documents.renew(jwks_uri, network));
    }
    if (domain === undefined) return undefined;
    const document = await read(documents.renew(clientId, network));
    return parseMetadataDocument(clientId, document, now(clock)).metadata.jwks;
  }

  async function checkAssertion(
    client: Client,
    assertion: string,
    network?: string,
  ): Promise<SingleUse> {
    checkUsesPrivateKeyJwt(client);
    const verify = (keys: unknown) =>
      verifyClientAssertion(client, assertion, {
        keys: keys as JSONWebKeySet,
        audiences: [baseUrl, `${baseUrl}/token`, `${baseUrl}/revoke`],
        now: now(clock),
      });
    const { jwks, jwks_uri = "" } = client.metadata;
    const used = await verify(
      jwks ?? await read(documents.find(jwks_uri, { stale: true, network })),
    ).catch(async (error) => {
      const keys = isUnknownKey(error) && await renewKeys(client, network);
      if (!keys) throw error;
      return await verify(keys);
    });
    const use = await parts.assertions.use({
      issuer: client.clientId,
      ...used,
    });
    if (use) return use;
    throw new OAuthError("invalid_client", "The assertion was used before");
  }

  return {
    find,
    findRegistered,

    /**
     * Stores the metadata document and JWKS of a client, once a person has
     * signed in with it.
     */
    async keepDocuments(
      { clientId, domain, metadata: { jwks_uri } }: Client,
    ): Promise<void> {
      if (domain !== undefined) await documents.keep(clientId);
      if (jwks_uri !== undefined) await documents.keep(jwks_uri);
    },

    /**
     * Authenticates the client of a request, then calls `act`. If `act` fails
     * with 503 or 429, the same assertion may be used again.
     * @param act `isProven` is true if the client has authenticated, not only
     * sent its ID
     * @throws {OAuthError} `invalid_client` or `invalid_request`
     */
    async authenticate<T>(
      { headers, parameters, network }: {
        headers: Headers;
        parameters: Parameters;
        network?: string;
      },
      act: (client: Client, isProven: boolean) => Promise<T>,
    ): Promise<T> {
      const credentials = parseClientCredentials(
        headers.get("authorization"),
        parameters,
      );
      const client = await find(credentials.clientId, { stale: true, network });
      if (credentials.method !== "assertion") {
        checkClientSecret(client, credentials);
        return await act(client, credentials.method !== "none");
      }
      const use = await checkAssertion(client, credentials.assertion, network);
      try {
        return await act(client, true);
      } catch (error) {
        const { status } = error as { status?: number };
        if (status === 503 || status === 429) use.giveBack();
        throw error;
      }
    },
  };
}
