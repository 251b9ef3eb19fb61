/**
 * The key that seals request states, shared by all processes, and the states
 * that must not be used again.
 *
 * @module
 */
import type { Database, Expiring } from "./database.ts";
import { spentStateKey } from "./keys.ts";
import { onceStore } from "./once.ts";
import { secretStore } from "./secrets.ts";

export type StateStore = ReturnType<typeof stateStore>;

export function stateStore(database: Database) {
  const secrets = secretStore(database);
  const nonces = onceStore<Expiring & { nonce: string }>(
    database,
    ({ nonce }) => spentStateKey(nonce),
  );
  return {
    /** Gives the sealing key: made once, then the same in every process. */
    key: (): Promise<Uint8Array> => secrets.find("request-state"),

    /** Marks a nonce as used; false when it was used before. */
    async spend(nonce: string, { expiresAt }: Expiring): Promise<boolean> {
      return await nonces.use({ nonce, expiresAt }) !== undefined;
    },
  };
}
