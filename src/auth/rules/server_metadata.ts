/**
 * The metadata documents that clients read before anything else. Undefined
 * members are left out in JSON.
 *
 * @see RFC 8414 §2, RFC 9728 §2
 * @module
 */
import type { About } from "../../authoring/about.ts";
import { SIGNATURE_ALGORITHMS } from "./signed_jwt.ts";
import { AUTH_METHODS, GRANT_TYPES, MACHINE_GRANT_TYPE } from "./client.ts";
import { ID_JAG_PROFILE, JWT_BEARER_GRANT_TYPE } from "./identity_assertion.ts";
import { resourceOf } from "./resource.ts";
import { OFFLINE_ACCESS } from "./scope.ts";

/** Makes the authorization server's metadata; its issuer is the base URL. */
export function authorizationServerMetadata(
  {
    baseUrl,
    scopesSupported,
    metadataDocuments,
    machines = false,
    assertions = false,
    registration = true,
    about = {},
  }: {
    baseUrl: string;
    scopesSupported: readonly string[];
    /** True if client ID metadata documents are accepted. */
    metadataDocuments: boolean;
    /** True if clients may register themselves. */
    registration?: boolean;
    /** True if any client acts for itself. */
    machines?: boolean;
    /** True if any identity provider is trusted. */
    assertions?: boolean;
    about?: About;
  },
): Record<string, unknown> {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/authorize`,
    token_endpoint: `${baseUrl}/token`,
    ...registration && { registration_endpoint: `${baseUrl}/register` },
    revocation_endpoint: `${baseUrl}/revoke`,
    scopes_supported: [...scopesSupported, OFFLINE_ACCESS],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: [
      ...GRANT_TYPES,
      ...machines ? [MACHINE_GRANT_TYPE] : [],
      ...assertions ? [JWT_BEARER_GRANT_TYPE] : [],
    ],
    // The trusted providers are not named: they are no one else's business.
    ...assertions &&
      { authorization_grant_profiles_supported: [ID_JAG_PROFILE] },
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: AUTH_METHODS,
    token_endpoint_auth_signing_alg_values_supported: SIGNATURE_ALGORITHMS,
    revocation_endpoint_auth_methods_supported: AUTH_METHODS,
    revocation_endpoint_auth_signing_alg_values_supported: SIGNATURE_ALGORITHMS,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: metadataDocuments,
    service_documentation: about.websiteUrl,
    op_policy_uri: about.privacyUrl,
    op_tos_uri: about.termsUrl,
  };
}

/**
 * Makes the protected resource's metadata. `scopes_supported` never names
 * `offline_access`: refresh tokens do not concern the resource.
 */
export function protectedResourceMetadata(
  { baseUrl, issuers, scopesSupported, title, about = {} }: {
    baseUrl: string;
    /** Its authorization servers; many clients take the first. */
    issuers: readonly string[];
    scopesSupported: readonly string[];
    title: string;
    about?: About;
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
