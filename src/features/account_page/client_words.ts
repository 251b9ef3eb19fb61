/**
 * The client of a grant in the form that pages show.
 *
 * @module
 */
import type { AccountServices } from "./account_pages.ts";
import type { Grant } from "../../core/oauth/grant.ts";
import type { ClientInWords } from "../../core/pages/names.tsx";

/** Describes the client of a grant for its person. */
export function clientInWords(
  { clientId, clientName }: Pick<Grant, "clientId" | "clientName">,
  { configured }: AccountServices,
): ClientInWords {
  return {
    name: clientName,
    isKnown: configured.some((client) => client.clientId === clientId),
    // Only a client with a metadata document has a URL as its ID.
    domain: clientId.startsWith("https:")
      ? URL.parse(clientId)?.hostname
      : undefined,
  };
}

/** Returns the name of a grant's client, or of an access token. */
export function clientNameOf({ kind, clientName }: Grant): string {
  return kind === "token" ? `${clientName} (access token)` : clientName;
}
