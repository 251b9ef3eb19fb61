/**
 * The metadata of the authorization server and of the protected resource. Both
 * are served at the root and below the resource's path, because clients try
 * both. JSON omits undefined members.
 *
 * @see RFC 8414 §2, RFC 9728 §2
 * @module
 */
import type { Context } from "@hono/hono";
import { OAuthError } from "../../errors.ts";
import { basePathOf } from "../../net/url.ts";
import { isMachine } from "../../oauth/configured_client.ts";
import type { AuthorizationServerOptions } from "../services.ts";
import { isSid, resourceOf } from "../../oauth/resource.ts";
import type { OperatorInfo } from "../../../authoring/about.ts";
import { SIGNATURE_ALGORITHMS } from "../../oauth/signed_jwt.ts";
import {
  AUTH_METHODS,
  GRANT_TYPES,
  MACHINE_GRANT_TYPE,
} from "../../oauth/client.ts";
import { OFFLINE_ACCESS } from "../../oauth/scope.ts";
import type { GrantType } from "./grant_type.ts";

/** Makes the authorization server metadata. Its issuer is the base URL. */
export function authorizationServerMetadata(
  { baseUrl, scopes, config, about = {} }: Pick<
    AuthorizationServerOptions,
    "baseUrl" | "scopes" | "config" | "about"
  >,
  added: readonly Pick<GrantType, "name" | "metadata">[] = [],
): Record<string, unknown> {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/authorize`,
    token_endpoint: `${baseUrl}/token`,
    ...config.policy.registration &&
      { registration_endpoint: `${baseUrl}/register` },
    revocation_endpoint: `${baseUrl}/revoke`,
    scopes_supported: [...scopes.supported, OFFLINE_ACCESS],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: [
      ...GRANT_TYPES,
      ...config.clients.some(isMachine) ? [MACHINE_GRANT_TYPE] : [],
      ...added.map(({ name }) => name),
    ],
    ...Object.assign({}, ...added.map(({ metadata }) => metadata)),
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: AUTH_METHODS,
    token_endpoint_auth_signing_alg_values_supported: SIGNATURE_ALGORITHMS,
    revocation_endpoint_auth_methods_supported: AUTH_METHODS,
    revocation_endpoint_auth_signing_alg_values_supported: SIGNATURE_ALGORITHMS,
    authorization_response_iss_parameter_supported: true,
    // The default in OpenID Connect Discovery §3 is true.
    request_uri_parameter_supported: false,
    client_id_metadata_document_supported: config.metadataDocuments.enabled,
    service_documentation: about.websiteUrl,
    op_policy_uri: about.privacyUrl,
    op_tos_uri: about.termsUrl,
  };
}

/**
 * Makes the protected resource metadata. `scopes_supported` never has
 * `offline_access`, because refresh tokens do not concern the resource.
 */
export function protectedResourceMetadata(
  { baseUrl, issuers, scopesSupported, title, about = {} }: {
    baseUrl: string;
    /** The authorization servers. Many clients use only the first. */
    issuers: readonly string[];
    scopesSupported: readonly string[];
    title: string;
    about?: OperatorInfo;
  },
): Record<string, unknown> {
  return {
    resource: resourceOf(baseUrl),
    authorization_servers: issuers,
    ...scopesSupported.length > 0 && { scopes_supported: scopesSupported },
    bearer_methods_supported: ["header"],
    resource_name: title,
    resource_documentation: about.websiteUrl,
    resource_policy_uri: about.privacyUrl,
    resource_tos_uri: about.termsUrl,
  };
}

/**
 * Lists the paths of the authorization server metadata: those of the issuer,
 * and that of the resource, where some clients look.
 */
export function serverMetadataPaths(baseUrl: string): string[] {
  const path = "/.well-known/oauth-authorization-server";
  return [...new Set([path, `${path}/mcp`, path + basePathOf(baseUrl)])];
}

/**
 * Makes the endpoint `GET /.well-known/oauth-protected-resource` (RFC 9728 §3).
 * A `sid` does not change the document; it only correlates requests.
 */
export function protectedResourceMetadataEndpoint(
  options: Parameters<typeof protectedResourceMetadata>[0],
): (c: Context) => Response {
  const document = protectedResourceMetadata(options);
  return (c) => {
    const sid = c.req.query("sid");
    if (sid !== undefined && !isSid(sid)) {
      throw new OAuthError(
        "invalid_request",
        "sid is 1 to 128 letters, digits and . _ ~ -",
      );
    }
    return c.json(document);
  };
}
