/**
 * The metadata of an OpenID provider.
 *
 * @see OpenID Connect Discovery 1.0, RFC 8414
 * @module
 */
import type { AuthorizationServer } from "oauth4webapi";
import { parseServerUrl } from "../net/server_url.ts";
import { SIGNATURE_ALGORITHMS } from "../oauth/signed_jwt.ts";
import { misbehaved } from "./provider.ts";
import { readObject, type UpstreamFetch } from "./upstream_fetch.ts";

const METADATA_FRESH_SECONDS = 3600;

/** The time for which cached metadata is used while its fetches fail. */
const METADATA_TTL_SECONDS = 24 * 3600;

/**
 * The time between two tries to fetch metadata, while there is cached metadata.
 */
const METADATA_PAUSE_SECONDS = 60;

/** The supported methods of client authentication, the preferred one first. */
const AUTH_METHODS = ["client_secret_post", "client_secret_basic"];

/** The endpoints that signing in with OpenID Connect needs. */
const REQUIRED = ["authorization_endpoint", "token_endpoint", "jwks_uri"];

/** The endpoints that OAuth without OpenID Connect needs. */
export const OAUTH_ENDPOINTS = REQUIRED.slice(0, 2);

const ENDPOINTS = [...REQUIRED, "userinfo_endpoint", "revocation_endpoint"];

/**
 * A provider's metadata, limited to methods and algorithms that this server
 * supports.
 */
export interface ProviderMetadata extends AuthorizationServer {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly jwks_uri: string;
  readonly scopes_supported: string[];
}

/**
 * Makes the function that returns a provider's metadata. It fetches the
 * metadata when first needed, and again after an hour. While that fails, it
 * returns the cached metadata for up to a day.
 *
 * @param isIssuer true if the document may name this issuer
 * @param required the endpoints that the document must have
 */
export function metadataReader(
  fetchUpstream: UpstreamFetch,
  issuer: string,
  isIssuer: (named: string) => boolean = (named) => named === issuer,
  required: readonly string[] = REQUIRED,
): () => Promise<ProviderMetadata> {
  let kept: { metadata: ProviderMetadata; endsAt: number } | undefined;
  let fetching: Promise<ProviderMetadata> | undefined;
  let nextAt = -Infinity;

  async function fetchAgain(): Promise<ProviderMetadata> {
    const began = performance.now();
    try {
      const metadata = await fetchMetadata(
        fetchUpstream,
        issuer,
        isIssuer,
        required,
      );
      kept = { metadata, endsAt: began + METADATA_TTL_SECONDS * 1000 };
      nextAt = began + METADATA_FRESH_SECONDS * 1000;
      return metadata;
    } catch (error) {
      if (!kept || performance.now() >= kept.endsAt) throw error;
      nextAt = performance.now() + METADATA_PAUSE_SECONDS * 1000;
      return kept.metadata;
    } finally {
      fetching = undefined;
    }
  }

  return async function discover() {
    const time = performance.now();
    if (kept && time < nextAt && time < kept.endsAt) return kept.metadata;
    return await (fetching ??= fetchAgain());
  };
}

async function fetchMetadata(
  fetchUpstream: UpstreamFetch,
  issuer: string,
  isIssuer: (named: string) => boolean,
  required: readonly string[],
): Promise<ProviderMetadata> {
  const { allowInsecureRequests, customFetch, discoveryRequest } = await import(
    "oauth4webapi"
  );
  const url = new URL(issuer);
  for (const algorithm of ["oidc", "oauth2"] as const) {
    const response = await discoveryRequest(url, {
      algorithm,
      [customFetch]: fetchUpstream,
      // The settings' URL was checked before; endpoints are checked below.
      [allowInsecureRequests]: true,
    });
    if (response.status === 404) continue;
    if (!response.ok) {
      throw misbehaved(
        `${url.host} answered ${response.status} when asked for its metadata`,
      );
    }
    const document = await readObject(response, url.host);
    return parseMetadata(document, issuer, isIssuer, required);
  }
  throw misbehaved(`${url.host} answered 404 when asked for its metadata`);
}

/**
 * Parses a metadata document. oauth4webapi is not used: it compares issuers as
 * URLs, so that `https://id.example` and `https://id.example/` are equal. It
 * also allows no exceptions such as `isIssuer`.
 */
function parseMetadata(
  document: Readonly<Record<string, unknown>>,
  issuer: string,
  isIssuer: (named: string) => boolean,
  required: readonly string[],
): ProviderMetadata {
  const { host, hostname } = new URL(issuer);
  const named = document.issuer;
  if (typeof named !== "string" || !isIssuer(named)) {
    throw misbehaved(
      `The metadata of ${issuer} names another issuer: ` +
        JSON.stringify(named)?.slice(0, 200),
    );
  }
  for (const name of ENDPOINTS) {
    const address = document[name];
    if (address === undefined) {
      if (!required.includes(name)) continue;
      throw misbehaved(`The metadata of ${host} must have ${name}`);
    }
    if (parseServerUrl(address, { hostname })) continue;
    throw misbehaved(`${name} of ${host} must be an https URL without a user`);
  }
  const offered = list(document.token_endpoint_auth_methods_supported) ??
    ["client_secret_basic"];
  const signed = list(document.id_token_signing_alg_values_supported) ??
    ["RS256"];
  return {
    ...document,
    token_endpoint_auth_methods_supported: AUTH_METHODS.filter((it) =>
      offered.includes(it)
    ),
    // Without `none` and HMAC: with these, oauth4webapi would accept forged
    // claims.
    id_token_signing_alg_values_supported: SIGNATURE_ALGORITHMS.filter((it) =>
      signed.includes(it)
    ),
    scopes_supported: list(document.scopes_supported) ?? [],
  } as unknown as ProviderMetadata;
}

function list(value: unknown): unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}
