/**
 * Finds OAuth clients by their client ID, and authenticates them at the token
 * and the revocation endpoint.
 *
 * @see RFC 6749 §2.3, RFC 7523 §2.2, OpenID Connect Core §9
 * @module
 */
import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet } from "jose";
import { DocumentError } from "./fetch_bounds.ts";
import { HttpError, OAuthError } from "../../errors.ts";
import {
  acceptedAuthMethods,
  type Client,
  isDocumentId,
  isSealedClientId,
} from "../../oauth/client.ts";
import {
  checkDocumentUrl,
  parseMetadataDocument,
  unsealClient,
} from "../../oauth/sealed_client.ts";
import { invalidRequest, type Parameters } from "../../oauth/parameters.ts";
import type { AssertionStore, SingleUse } from "../../store/once.ts";
import { recentReads } from "../../cache.ts";
import type { SecretStore } from "../../store/secrets.ts";
import type { DocumentStore } from "../../store/documents.ts";
import { type Clock, now } from "../../clock.ts";
import { fingerprint, isSameSecret } from "../../crypto/crypto.ts";
import {
  ASSERTION_MAX_TTL_SECONDS,
  CLOCK_TOLERANCE_SECONDS,
} from "../../oauth/lifetimes.ts";
import { verifySignedJwt } from "../../oauth/signed_jwt.ts";

/** The client credentials in a request, before they are checked. */
type ClientCredentials =
  | { method: "none"; clientId: string }
  | { method: "secret"; clientId: string; secret: string }
  | { method: "assertion"; clientId: string; assertion: string };

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** The accepted `typ`s of a client assertion. RFC 7523 requires none. */
const ASSERTION_TYPES = [undefined, "jwt", "client-authentication+jwt"];

function refuse(cause?: unknown): never {
  throw new OAuthError("invalid_client", "Client authentication failed", {
    cause,
  });
}

/**
 * Reads the client credentials of a request.
 *
 * @throws {OAuthError} `invalid_client` if they are missing or unreadable;
 * `invalid_request` if the request uses two methods
 */
export function parseClientCredentials(
  authorization: string | null,
  parameters: Parameters,
): ClientCredentials {
  const basic = parseBasic(authorization);
  const clientId = parameters.get("client_id");
  const secret = parameters.get("client_secret");
  const assertion = parameters.get("client_assertion");
  const methods = [basic, secret, assertion].filter((it) => it !== undefined);
  if (methods.length > 1 || basic && clientId && clientId !== basic.clientId) {
    throw invalidRequest(
      "A request must use one way of client authentication, and one client_id",
    );
  }
  if (basic) return basic;
  if (assertion !== undefined) {
    if (parameters.get("client_assertion_type") !== ASSERTION_TYPE) {
      throw invalidRequest(`client_assertion_type must be ${ASSERTION_TYPE}`);
    }
    return {
      method: "assertion",
      clientId: clientId ?? claimedSubject(assertion),
      assertion,
    };
  }
  if (clientId === undefined) refuse();
  return secret === undefined
    ? { method: "none", clientId }
    : { method: "secret", clientId, secret };
}

/**
 * Reads Basic credentials. Both halves are form-encoded (RFC 6749 §2.3.1). An
 * unreadable header is an error; it is not treated as absent.
 */
function parseBasic(
  authorization: string | null,
): ClientCredentials | undefined {
  const [scheme, encoded = "", ...more] = (authorization ?? "").trim()
    .split(/ +/);
  if (scheme.toLowerCase() !== "basic") return undefined;
  try {
    const [id, ...rest] = atob(encoded).split(":").map((half) =>
      decodeURIComponent(half.replaceAll("+", " "))
    );
    if (id === "" || rest.length === 0 || more.length > 0) refuse();
    // Clients without a secret may send an empty password.
    const secret = rest.join(":");
    return secret === ""
      ? { method: "none", clientId: id }
      : { method: "secret", clientId: id, secret };
  } catch (cause) {
    if (cause instanceof OAuthError) throw cause;
    refuse(cause);
  }
}

/** Reads the `sub` of a client assertion before the assertion is verified. */
function claimedSubject(assertion: string): string {
  try {
    const { sub } = decodeJwt(assertion);
    if (typeof sub === "string") return sub;
  } catch (cause) {
    refuse(cause);
  }
  refuse();
}

/**
 * Checks the client secret. If the client has none, checks that it may use the
 * method `none`.
 */
export function checkClientSecret(
  client: Client,
  credentials: ClientCredentials,
): void {
  switch (credentials.method) {
    case "none":
      if (!acceptedAuthMethods(client.metadata).includes("none")) refuse();
      return;
    case "secret":
      // The secret may be in the header or the body, whatever method the
      // client registered: libraries choose by themselves.
      if (
        client.secretFingerprint === undefined ||
        !isSameSecret(fingerprint(credentials.secret), client.secretFingerprint)
      ) refuse();
      return;
    default:
      refuse();
  }
}

/**
 * Refuses a client that is not registered for `private_key_jwt`, before its
 * keys are fetched.
 */
function checkUsesPrivateKeyJwt({ metadata }: Client): void {
  if (!acceptedAuthMethods(metadata).includes("private_key_jwt")) refuse();
}

/** True if an assertion was refused because no key has its `kid`. */
export function isUnknownKey(error: unknown): boolean {
  return error instanceof OAuthError &&
    error.cause instanceof errors.JWKSNoMatchingKey;
}

/**
 * Verifies a client assertion (`private_key_jwt`). The caller must refuse a
 * `jti` that was used before.
 *
 * @throws {OAuthError} `invalid_client`
 */
export async function verifyClientAssertion(
  client: Client,
  assertion: string,
  { keys, audiences, now }: {
    keys: JSONWebKeySet;
    audiences: string[];
    now: number;
  },
): Promise<{ jti: string; expiresAt: number }> {
  checkUsesPrivateKeyJwt(client);
  try {
    const { payload, protectedHeader } = await verifySignedJwt(
      assertion,
      createLocalJWKSet(keys),
      {
        issuer: client.clientId,
        subject: client.clientId,
        audience: audiences,
        requiredClaims: ["exp", "jti"],
        now,
      },
    );
    const { jti, exp = Infinity, aud } = payload;
    // If an assertion had a second audience, that audience could use it here
    // (RFC 7523 §3).
    const isGood = [aud].flat().length === 1 && typeof jti === "string" &&
      exp <= now + ASSERTION_MAX_TTL_SECONDS &&
      ASSERTION_TYPES.includes(protectedHeader.typ?.toLowerCase());
    if (!isGood) refuse();
    return { jti, expiresAt: exp + CLOCK_TOLERANCE_SECONDS };
  } catch (cause) {
    if (cause instanceof OAuthError) throw cause;
    refuse(cause);
  }
}

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
      // The error has no details, by which anyone could map this server's
      // network.
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

  const registered = recentReads(async (clientId) =>
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
