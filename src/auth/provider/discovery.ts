/**
 * The metadata of an OpenID provider.
 *
 * @see OpenID Connect Discovery 1.0, RFC 8414
 * @module
 */
import { isLoopback } from "../../net/loopback.ts";
import { SIGNATURE_ALGORITHMS } from "../rules/algorithms.ts";
import { UpstreamError } from "./upstream_error.ts";
import { readObject, type UpstreamFetch } from "./upstream_fetch.ts";
import { AUTH_METHODS, type AuthMethod } from "./token_endpoint.ts";

/** The time for which a provider's metadata is cached, in seconds. */
const METADATA_TTL_SECONDS = 3600;

/** The parts of a provider's metadata that are needed here. */
export interface Metadata {
  issuer: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  userinfoEndpoint?: string;
  revocationEndpoint?: string;
  jwksUri: string;
  authMethods: readonly AuthMethod[];
  /** Algorithms an `id_token` may be signed with. */
  algorithms: readonly string[];
  /** The scopes it supports, if it lists them. */
  scopes: readonly unknown[];
  /** True if every authorization response carries `iss` (RFC 9207 §3). */
  sendsIssuer: boolean;
}

/**
 * Fetches a provider's metadata when it is first needed, and again after an
 * hour; a failure is not cached.
 *
 * @param isIssuer true if the document may name this issuer
 */
export function discovery(
  fetchUpstream: UpstreamFetch,
  issuer: string,
  isIssuer: (named: string) => boolean = (named) => named === issuer,
): () => Promise<Metadata> {
  let metadata: Promise<Metadata> | undefined;
  let staleAt = 0;
  return function discover() {
    if (metadata === undefined || Date.now() >= staleAt) {
      staleAt = Date.now() + METADATA_TTL_SECONDS * 1000;
      metadata = fetchMetadata(fetchUpstream, issuer, isIssuer);
      metadata.catch(() => metadata = undefined);
    }
    return metadata;
  };
}

async function fetchMetadata(
  fetchUpstream: UpstreamFetch,
  issuer: string,
  isIssuer: (named: string) => boolean,
): Promise<Metadata> {
  const { host } = new URL(issuer);
  for (const location of metadataLocations(issuer)) {
    const response = await fetchUpstream(location);
    if (response.status === 404) continue;
    if (!response.ok) {
      throw new UpstreamError(
        "misbehaved",
        `${host} answered ${response.status} when asked for its metadata`,
      );
    }
    return parseMetadata(await readObject(response, host), issuer, isIssuer);
  }
  throw new UpstreamError("misbehaved", `${host} has no metadata`);
}

/**
 * Lists the addresses at which an issuer's metadata may be.
 *
 * @see OpenID Connect Discovery §4.1, RFC 8414 §3.1
 */
export function metadataLocations(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

/**
 * Parses a metadata document.
 *
 * @throws {UpstreamError} `misbehaved`
 */
export function parseMetadata(
  document: Readonly<Record<string, unknown>>,
  issuer: string,
  isIssuer: (named: string) => boolean,
): Metadata {
  const { host, hostname } = new URL(issuer);
  const named = document.issuer;
  if (typeof named !== "string" || !isIssuer(named)) {
    throw new UpstreamError(
      "misbehaved",
      `The metadata of ${issuer} names another issuer: ${
        JSON.stringify(named)?.slice(0, 200)
      }`,
    );
  }
  const endpoint = (name: string) => {
    const address = document[name];
    if (address === undefined) return undefined;
    const url = typeof address === "string" ? URL.parse(address) : null;
    // Without TLS only between two servers on this machine.
    const local = url?.protocol === "http:" && isLoopback(url) &&
      isLoopback({ hostname });
    if (url && (url.protocol === "https:" || local)) return url.href;
    throw new UpstreamError("misbehaved", `${host} has no safe ${name}`);
  };
  const required = (name: string) => {
    const address = endpoint(name);
    if (address !== undefined) return address;
    throw new UpstreamError("misbehaved", `${host} names no ${name}`);
  };
  const offered = list(document.token_endpoint_auth_methods_supported) ??
    ["client_secret_basic"];
  const signed = list(document.id_token_signing_alg_values_supported) ??
    ["RS256"];
  return {
    issuer: named,
    authorizationEndpoint: required("authorization_endpoint"),
    tokenEndpoint: required("token_endpoint"),
    userinfoEndpoint: endpoint("userinfo_endpoint"),
    revocationEndpoint: endpoint("revocation_endpoint"),
    jwksUri: required("jwks_uri"),
    authMethods: AUTH_METHODS.filter((method) => offered.includes(method)),
    algorithms: SIGNATURE_ALGORITHMS.filter((it) => signed.includes(it)),
    scopes: list(document.scopes_supported) ?? [],
    sendsIssuer: document.authorization_response_iss_parameter_supported ===
      true,
  };
}

function list(value: unknown): unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}
