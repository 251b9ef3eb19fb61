/**
 * Secrets that every process needs and nobody has to configure.
 *
 * @module
 */
import { secretKey } from "./keys.ts";
import { commit, reach } from "./kv.ts";

/** 32 random bytes for a purpose: made once, the same in every process. */
export async function sharedSecret(
  kv: Deno.Kv,
  purpose: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const key = secretKey(purpose);
  for (;;) {
    const { value } = await reach(() => kv.get<Uint8Array<ArrayBuffer>>(key));
    if (value !== null) return value;
    const made = crypto.getRandomValues(new Uint8Array(32));
    await commit(
      kv,
      (operation) =>
        operation.check({ key, versionstamp: null }).set(key, made),
    );
  }
}
