/**
 * The key that seals request states, shared by all processes, and the states
 * that may not be used again.
 *
 * @module
 */
import { spentStateKey } from "./keys.ts";
import { commit, expireIn, type Expiring } from "./kv.ts";
import { sharedSecret } from "./secrets.ts";

/** Request states' memory in Deno KV. */
export interface StateStore {
  /** The sealing key: made once, then the same in every process. */
  key(): Promise<Uint8Array>;
  /** Marks a nonce as used; false when it was used before. */
  spend(nonce: string, until: Expiring): Promise<boolean>;
}

/** Request states' memory in a database. */
export function stateStore(kv: Deno.Kv): StateStore {
  let key: Promise<Uint8Array> | undefined;
  return {
    key() {
      key ??= sharedSecret(kv, "request-state").catch((error) => {
        key = undefined;
        throw error;
      });
      return key;
    },
    spend(nonce, { expiresAt }) {
      const key = spentStateKey(nonce);
      return commit(kv, (operation) =>
        operation
          .check({ key, versionstamp: null })
          .set(key, { expiresAt }, expireIn({ expiresAt })));
    },
  };
}
