/**
 * The people and clients that there can be at a server of a test.
 *
 * @module
 */
import type { Known } from "../../src/auth/rules/list_entry.ts";

export function known(provider = "dev"): Known {
  return {
    providers: [{ id: provider, kind: provider }],
    otherIds: ["https://id.example.com"],
    clientIds: ["intranet"],
  };
}
