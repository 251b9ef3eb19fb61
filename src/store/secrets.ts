/**
 * Secrets that all processes share and that need no configuration.
 *
 * @module
 */
import type { Database } from "./database.ts";
import { secretKey } from "./keys.ts";

export type SecretStore = ReturnType<typeof secretStore>;

export function secretStore(database: Database) {
  const known = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();

  async function findOrMake(
    purpose: string,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const key = secretKey(purpose);
    for (;;) {
      const { value } = await database.get<Uint8Array<ArrayBuffer>>(key);
      if (value !== undefined) return value;
      const made = crypto.getRandomValues(new Uint8Array(32));
      const isKept = await database.commit((transaction) =>
        transaction.check({ key, versionstamp: null }).setForever(key, made)
      );
      // Otherwise another process has written it, so it is read again.
      if (isKept) return made;
    }
  }

  return {
    /** Finds 32 random bytes for a purpose, the same in every process. */
    find(purpose: string): Promise<Uint8Array<ArrayBuffer>> {
      let found = known.get(purpose);
      if (!found) {
        found = findOrMake(purpose);
        known.set(purpose, found);
        found.catch(() => known.delete(purpose));
      }
      return found;
    },
  };
}
