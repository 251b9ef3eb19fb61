/**
 * Secrets that all processes share and that need no configuration.
 *
 * @module
 */
import type { Database, Entry } from "../kv/database.ts";
import { secretKey } from "../kv/keys.ts";
import { makeOnce } from "../cache.ts";

export type SecretStore = ReturnType<typeof secretStore>;

export function secretStore(database: Database) {
  const known = new Map<string, () => Promise<Uint8Array<ArrayBuffer>>>();

  function findOrMake(purpose: string): Promise<Uint8Array<ArrayBuffer>> {
    return database.change(
      secretKey(purpose),
      (transaction, { key, value }: Entry<Uint8Array<ArrayBuffer>>) => {
        if (value !== undefined) return value;
        const made = crypto.getRandomValues(new Uint8Array(32));
        transaction.setForever(key, made);
        return made;
      },
    );
  }

  return {
    /** Finds 32 random bytes for a purpose, the same in every process. */
    find(purpose: string): Promise<Uint8Array<ArrayBuffer>> {
      let find = known.get(purpose);
      if (!find) known.set(purpose, find = makeOnce(() => findOrMake(purpose)));
      return find();
    },
  };
}
