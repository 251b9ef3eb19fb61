/**
 * The names that a test server knows, for lists of people and clients.
 *
 * @module
 */
import type { KnownNames } from "../../src/core/oauth/list_entry.ts";

export function known(provider = "dev"): KnownNames {
  return {
    providers: [{ id: provider, kind: provider }],
    otherIds: ["https://id.example.com"],
    clientIds: ["intranet"],
  };
}
