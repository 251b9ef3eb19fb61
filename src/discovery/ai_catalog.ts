/**
 * The catalogue of a host: its servers, and the addresses of their cards.
 *
 * @see Agent-Card/ai-catalog, version 1.0
 * @module
 */
import { CARD_TYPE, type ServerCard } from "./server_card.ts";

/** The media type of the catalogue. */
export const CATALOG_TYPE = "application/ai-catalog+json";

/** Makes the document at `/.well-known/ai-catalog.json`. */
export function aiCatalog(
  { card, baseUrl, operator }: {
    card: ServerCard;
    /** Without a trailing slash. */
    baseUrl: string;
    /** The operator of the host. */
    operator?: string;
  },
) {
  const displayName = card.title ?? card.name;
  const suffix = card.name.slice(card.name.indexOf("/") + 1);
  return {
    specVersion: "1.0",
    host: { displayName: operator ?? displayName },
    entries: [{
      identifier: `urn:air:${new URL(baseUrl).hostname}:mcp:${suffix}`,
      displayName,
      type: CARD_TYPE,
      url: `${card.remotes[0].url}/server-card`,
    }],
  };
}
