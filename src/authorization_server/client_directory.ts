/**
 * ClientDirectory by their identifier, whichever way they came to be known, and the
 * proof that a request comes from one.
 *
 * @module
 */
import type { JSONWebKeySet } from "jose";
import { OAuthError } from "../errors.ts";
import type { Client } from "../oauth/client.ts";
import {
  checkClientSecret,
  parseClientCredentials,
  verifyClientAssertion,
} from "../oauth/client_authentication.ts";
import {
  checkDocumentUrl,
  isDocumentUrl,
  parseMetadataDocument,
} from "../oauth/metadata_document.ts";
import type { Parameters } from "../oauth/parameters.ts";
import { useAssertion } from "../store/assertions.ts";
import type { RegistrationStore } from "../store/registrations.ts";
import type { DocumentStore } from "../store/documents.ts";
import { now } from "../clock.ts";

/** All clients. */
export interface ClientDirectory {
  /**
   * A client. `stale`: a metadata document that cannot be fetched anew will do.
   *
   * @throws {OAuthError} `invalid_client` when there is none,
   * `temporarily_unavailable` when its document cannot be read
   */
  find(clientId: string, options?: { stale?: boolean }): Promise<Client>;
  /**
   * The client that a request authenticates.
   *
   * @throws {OAuthError} `invalid_client` or `invalid_request`
   */
  authenticate(headers: Headers, parameters: Parameters): Promise<Client>;
}

/** Finds clients among registrations and metadata documents. */
export function clientDirectory(
  { kv, baseUrl, registrations, documents, metadataDocuments }: {
    kv: Deno.Kv;
    baseUrl: string;
    registrations: RegistrationStore;
    documents: DocumentStore;
    metadataDocuments: { enabled: boolean; allowedDomains: readonly string[] };
  },
): ClientDirectory {
  async function read(
    url: string,
    options?: { stale?: boolean },
  ): Promise<unknown> {
    try {
      return await documents.find(url, options);
    } catch (cause) {
      // One message whatever the reason: it must not map a network.
      throw new OAuthError(
        "temporarily_unavailable",
        "The client's own document cannot be read",
        { cause },
      );
    }
  }

  async function find(
    clientId: string,
    options?: { stale?: boolean },
  ): Promise<Client> {
    if (metadataDocuments.enabled && isDocumentUrl(clientId)) {
      checkDocumentUrl(clientId, metadataDocuments.allowedDomains);
      const document = await read(clientId, options);
      return parseMetadataDocument(clientId, document, now());
    }
    const client = await registrations.find(clientId);
    if (client) return client;
    throw new OAuthError(
      "invalid_client",
      "This client is not registered here, or no longer",
    );
  }

  async function checkAssertion(
    client: Client,
    assertion: string,
  ): Promise<void> {
    const { jwks, jwks_uri } = client.metadata;
    const keys = jwks ?? await read(jwks_uri ?? "", { stale: true });
    const used = await verifyClientAssertion(client, assertion, {
      keys: keys as JSONWebKeySet,
      audiences: [baseUrl, `${baseUrl}/token`, `${baseUrl}/revoke`],
      now: now(),
    });
    if (!await useAssertion(kv, client.clientId, used)) {
      throw new OAuthError("invalid_client", "The assertion was used before");
    }
  }

  return {
    find,

    async authenticate(headers, parameters) {
      const credentials = parseClientCredentials(
        headers.get("authorization"),
        parameters,
      );
      const client = await find(credentials.clientId, { stale: true });
      if (credentials.method === "assertion") {
        await checkAssertion(client, credentials.assertion);
      } else {
        checkClientSecret(client, credentials);
      }
      return client;
    },
  };
}
