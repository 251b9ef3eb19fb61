/**
 * The people and clients that there can be at a server of a test.
 *
 * @module
 */
import type { KnownNames } from "../../src/oauth/list_entry.ts";

export function known(provider = "dev"): KnownNames {
  return {
    providers: [{ id: provider, kind: provider }],
    otherIds: ["https://id.example.com"],
    clientIds: ["intranet"],
  };
}
