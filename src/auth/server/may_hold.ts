/**
 * The rule of which grants still hold, from the settings.
 *
 * @module
 */
import type { OAuthConfig } from "../../settings/oauth.ts";
import { isMachine } from "../rules/configured_client.ts";
import { heldScopes, type MayHold } from "../rules/held_scopes.ts";
import { knownClients } from "../rules/known_clients.ts";
import type { Permissions } from "../rules/permissions.ts";
import { resourceOf } from "../rules/resource.ts";
import { parseScope } from "../rules/scope.ts";

/** Makes the rule of a server. */
export function mayHoldOf(
  { config, baseUrl, permissions }: {
    config: OAuthConfig;
    baseUrl: string;
    permissions?: Permissions;
  },
): MayHold {
  const { clients, metadataDocuments, assertionIssuers } = config;
  const { allowedUsers, blocked } = config;
  return heldScopes({
    issuer: baseUrl,
    resource: resourceOf(baseUrl),
    providerIds: config.providers.map(({ id }) => id),
    allowedUsers,
    blocked,
    machines: new Map(
      clients.filter(isMachine).map(({ clientId, metadata }) =>
        [clientId, parseScope(metadata.scope)] as const
      ),
    ),
    isKnownClient: knownClients({ configured: clients, metadataDocuments }),
    assertionIssuers,
    permissions,
  });
}
