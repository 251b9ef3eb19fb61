import type { AccountPageServices } from "./account_pages.ts";
import type { Grant } from "../../core/oauth/grant.ts";
import type { ClientInWords } from "../../core/pages/names.tsx";

export function clientInWords(
  { clientId, clientName }: Pick<Grant, "clientId" | "clientName">,
  { configured }: AccountPageServices,
): ClientInWords {
  return {
    name: clientName,
    isKnown: configured.some((client) => client.clientId === clientId),
    // Only a client ID metadata document has an https URL as its client ID.
    domain: clientId.startsWith("https:")
      ? URL.parse(clientId)?.hostname
      : undefined,
  };
}

/** Returns the name of a grant's client, or of an access token. */
export function clientNameOf({ kind, clientName }: Grant): string {
  return kind === "token" ? `${clientName} (access token)` : clientName;
}
