/**
 * Clients that may be clients here, by their identifiers alone: an operator
 * takes one out of the settings while its tokens live on.
 *
 * @module
 */
import type { Client } from "./client.ts";
import { isSealedClientId } from "./client_id.ts";
import { namesDocument } from "./metadata_document.ts";

/**
 * Returns true if a client may still be one here. A registration is not looked up: no
 * operator takes those away.
 */
export type IsKnownClient = (clientId: string) => boolean;

/** Judges clients by the settings of today. */
export function knownClients(
  { configured, metadataDocuments: { enabled, allowedDomains } }: {
    /** Clients that the operator set up. */
    configured: readonly Pick<Client, "clientId">[];
    metadataDocuments: { enabled: boolean; allowedDomains: readonly string[] };
  },
): IsKnownClient {
  const ids = new Set(configured.map(({ clientId }) => clientId));
  const isWelcome = (clientId: string) =>
    allowedDomains.length === 0 ||
    allowedDomains.includes(URL.parse(clientId)?.hostname ?? "");
  return (clientId) =>
    ids.has(clientId) || isSealedClientId(clientId) ||
    enabled && namesDocument(clientId) && isWelcome(clientId);
}
