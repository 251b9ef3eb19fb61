/**
 * OAuth clients: their IDs and their metadata, from dynamic client
 * registration, from the operator, or from a client ID metadata document. An ID
 * that this server issues is a short name, a dot, and the encrypted
 * registration.
 *
 * @see RFC 7591, draft-ietf-oauth-client-id-metadata-document §3
 * @module
 */
import * as z from "zod";
import { fingerprint, randomId } from "../crypto/crypto.ts";
import { OAuthError } from "../errors.ts";
import { isObject } from "../json.ts";
import { checkRedirectUri } from "./redirect_uri.ts";

/** The maximum length of a client ID, because query strings contain it. */
export const CLIENT_ID_MAX_CHARACTERS = 3000;

const SEALED = /^([\w-]{22})\.[\w.-]+$/;

/** True if a client ID looks as if this server had issued it. */
export function isSealedClientId(clientId: string): boolean {
  return clientId.length <= CLIENT_ID_MAX_CHARACTERS && SEALED.test(clientId);
}

/** Returns the short form of a client ID, for logs and lists. */
export function shortClientId(clientId: string): string {
  return SEALED.exec(clientId)?.[1] ?? clientId;
}

/** True if a client ID looks like the URL of a client ID metadata document. */
export function isDocumentId(clientId: string): boolean {
  return clientId.startsWith("https://");
}

const MAX_URL_CHARACTERS = 1024;

/**
 * Parses the URL of a client ID metadata document: https on the default port,
 * with a host name and a path. Undefined for a URL that parsers may read
 * differently: one with dot segments, tabs, backslashes, an upper-case host, or
 * a number as its address.
 */
export function documentUrl(text: string): URL | undefined {
  const url = text.length <= MAX_URL_CHARACTERS ? URL.parse(text) : null;
  const plain = url !== null && url.href === text && !text.includes("#") &&
    url.protocol === "https:" && url.port === "" && url.pathname !== "/" &&
    url.username === "" && url.password === "";
  // No IP address: people read the host name, and a certificate proves it.
  // No quotes, which URL parsers accept in a host.
  return plain && /^[\w.-]*[a-z_-]$/.test(url.hostname) ? url : undefined;
}

/**
 * True if the settings still allow a client. A dynamically registered client is
 * always allowed.
 */
export function isKnownClient(
  clientId: string,
  { clients, metadataDocuments: { enabled, allowedDomains } }: {
    /** The clients of `OAUTH_CLIENTS`. */
    clients: readonly { clientId: string }[];
    metadataDocuments: { enabled: boolean; allowedDomains: readonly string[] };
  },
): boolean {
  if (isSealedClientId(clientId)) return true;
  if (clients.some((client) => client.clientId === clientId)) return true;
  return enabled && isDocumentId(clientId) &&
    (allowedDomains.length === 0 ||
      allowedDomains.includes(URL.parse(clientId)?.hostname ?? ""));
}

export interface Client {
  clientId: string;
  metadata: ClientMetadata;
  /** The fingerprint of the client secret; undefined for a public client. */
  secretFingerprint?: string;
  /** Epoch seconds; 0 for a client in `OAUTH_CLIENTS`. */
  issuedAt: number;
  /** The host of the client ID metadata document; undefined without one. */
  domain?: string;
  /** True for a client in `OAUTH_CLIENTS`. */
  isConfigured?: boolean;
}

/** The methods by which a client authenticates at the token endpoint. */
export const AUTH_METHODS = [
  "none",
  "client_secret_basic",
  "client_secret_post",
  "private_key_jwt",
] as const;

/** The grant types that every client may use, which are also the default. */
export const GRANT_TYPES = ["authorization_code", "refresh_token"] as const;

/** RFC 6749 §4.4; only for clients in `OAUTH_CLIENTS`. */
export const MACHINE_GRANT_TYPE = "client_credentials";

/** RFC 7523 §2.1. */
export const JWT_BEARER_GRANT_TYPE =
  "urn:ietf:params:oauth:grant-type:jwt-bearer";

/**
 * The grant types of clients that are in `OAUTH_CLIENTS` or have a client ID
 * metadata document.
 */
const VOUCHED_GRANT_TYPES = [...GRANT_TYPES, JWT_BEARER_GRANT_TYPE];

/**
 * True for a grant type without a page for a person: the client must
 * authenticate.
 */
export function needsAuthentication(type: string): boolean {
  return type === MACHINE_GRANT_TYPE || type === JWT_BEARER_GRANT_TYPE;
}

/** The private members of a JWK (RFC 7518 §6). */
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

function makeSchema() {
  // Without control characters, because these texts are shown and logged.
  const words = z.string().max(200).regex(/^\P{Cc}*$/u);
  const address = z.string().max(2048).regex(/^\P{Cc}*$/u);
  const publicKey = z.record(z.string(), z.unknown()).refine((key) =>
    PRIVATE_MEMBERS.every((member) => !Object.hasOwn(key, member))
  );
  // Unknown values are accepted here, and dropped by `parseClientMetadata`.
  const choices = z.array(z.string().max(100)).max(20);
  return z.object({
    // Machines need no redirect URI.
    redirect_uris: z.array(z.string()).max(20).default([]),
    client_name: words.optional(),
    // Most clients here are public and use PKCE, so `none` is the default.
    // The registration response says so (RFC 7591 §3.2.1 allows that).
    token_endpoint_auth_method: z.enum(AUTH_METHODS).default("none"),
    // Further methods for a client with a metadata document.
    token_endpoint_auth_methods_supported: choices.optional(),
    grant_types: choices.default([...GRANT_TYPES]),
    response_types: choices.default(["code"]),
    scope: z.string().max(1000).optional(),
    application_type: z.enum(["web", "native"]).optional(),
    client_uri: address.optional(),
    logo_uri: address.optional(),
    tos_uri: address.optional(),
    policy_uri: address.optional(),
    contacts: z.array(words).max(10).optional(),
    software_id: words.optional(),
    software_version: words.optional(),
    jwks: z.object({ keys: z.array(publicKey).max(20) }).optional(),
    jwks_uri: z.string().refine(documentUrl).optional(),
  });
}

/** Made at its first use, so that a server without clients starts sooner. */
let schema: ReturnType<typeof makeSchema> | undefined;

/**
 * The expected form of members, for error texts. RFC 7591 §2 describes the
 * others.
 */
const WANTED: Readonly<Record<string, string>> = {
  token_endpoint_auth_method: `one of ${AUTH_METHODS.join(", ")}`,
  client_name: "at most 200 characters, without control characters",
  scope: "at most 1000 characters",
  contacts: "an array of at most 10 texts",
  jwks: "a set of at most 20 public keys, without private members",
  jwks_uri: "a plain https URL with a host name and a path, without a port",
};

/** Valid client metadata with defaults; the names are those of RFC 7591. */
export type ClientMetadata = z.output<ReturnType<typeof makeSchema>>;

function refuse(description: string): never {
  throw new OAuthError("invalid_client_metadata", description);
}

function refuseUris(): never {
  throw new OAuthError(
    "invalid_redirect_uri",
    "redirect_uris must be an array of 1 to 20 URIs",
  );
}

/**
 * Parses the client metadata in a registration or a metadata document. A null
 * or empty member is treated as absent. Unknown members, and unsupported grant
 * and response types, are dropped.
 * @throws {OAuthError} `invalid_redirect_uri` or `invalid_client_metadata`
 */
export function parseClientMetadata(
  body: unknown,
  { machines = false, vouched = machines }: {
    /** True if the client may be a machine, which acts for itself. */
    machines?: boolean;
    /**
     * True for a client in `OAUTH_CLIENTS` or with a client ID metadata
     * document.
     */
    vouched?: boolean;
  } = {},
): ClientMetadata {
  if (!isObject(body)) refuse("Client metadata must be a JSON object");
  const present = Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== null && value !== ""),
  );
  const parsed = (schema ??= makeSchema()).safeParse(present);
  if (!parsed.success) {
    const [member] = parsed.error.issues[0].path;
    if (member === "redirect_uris") refuseUris();
    const wanted = WANTED[String(member)] ?? "as in section 2 of RFC 7591";
    refuse(`${String(member)} must be ${wanted}`);
  }
  const metadata = parsed.data;
  metadata.redirect_uris.forEach(checkRedirectUri);
  const hasUris = metadata.redirect_uris.length > 0;
  if (!hasUris && !machines) refuseUris();
  const known: readonly string[] = [
    ...vouched ? VOUCHED_GRANT_TYPES : GRANT_TYPES,
    ...machines ? [MACHINE_GRANT_TYPE] : [],
  ];
  metadata.grant_types = metadata.grant_types.filter((type) =>
    known.includes(type)
  );
  const needsPage = !machines ||
    !metadata.grant_types.some(needsAuthentication);
  const signsIn = metadata.grant_types.includes("authorization_code");
  if (!signsIn && needsPage) {
    refuse("grant_types must include authorization_code");
  }
  if (signsIn && !hasUris) refuseUris();
  metadata.response_types = metadata.response_types.filter((type) =>
    type === "code"
  );
  if (metadata.response_types.length === 0) {
    refuse("response_types must include code");
  }
  // A client has either a secret or keys, so a secret cannot be a further
  // method.
  metadata.token_endpoint_auth_methods_supported &&= metadata
    .token_endpoint_auth_methods_supported.filter((method) =>
      method === "none" || method === "private_key_jwt"
    );
  const keySources = [metadata.jwks, metadata.jwks_uri].filter(Boolean).length;
  if (
    keySources === 2 ||
    metadata.token_endpoint_auth_method === "private_key_jwt" &&
      keySources === 0
  ) {
    refuse("private_key_jwt needs either jwks or jwks_uri, and not both");
  }
  return metadata;
}

export function acceptedAuthMethods(
  metadata: ClientMetadata,
): readonly string[] {
  const choices = metadata.token_endpoint_auth_methods_supported ?? [];
  return [metadata.token_endpoint_auth_method, ...choices];
}

/** A new registration. The client secret is shown only once. */
export interface Registration {
  client: Client;
  clientSecret?: string;
}

export function registerClient(body: unknown, now: number): Registration {
  const metadata = parseClientMetadata(body);
  const client: Client = { clientId: randomId(16), metadata, issuedAt: now };
  if (!metadata.token_endpoint_auth_method.startsWith("client_secret_")) {
    return { client };
  }
  const clientSecret = randomId();
  client.secretFingerprint = fingerprint(clientSecret);
  return { client, clientSecret };
}

/** Returns the registration response (RFC 7591 §3.2.1). */
export function printRegistration(
  { client, clientSecret }: Registration,
): Record<string, unknown> {
  return {
    client_id: client.clientId,
    client_id_issued_at: client.issuedAt,
    ...clientSecret !== undefined &&
      { client_secret: clientSecret, client_secret_expires_at: 0 },
    ...client.metadata,
  };
}

/** Returns the name of a client for pages and logs. */
export function clientName({ clientId, metadata, domain }: Client): string {
  return metadata.client_name ?? domain ?? shortClientId(clientId);
}
