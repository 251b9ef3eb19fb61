/**
 * Checks that a database fulfils the contract of the server, for authors of
 * databases: `kv` of `serve` and `createServer`.
 *
 * @example
 * ```ts
 * import { kvPromises } from "@tool-server/tool-server/testing/kv";
 *
 * for (const { name, check } of kvPromises) {
 *   Deno.test(`a file: ${name}`, async () => {
 *     const path = await Deno.makeTempFile();
 *     const [kv, other] = [await Deno.openKv(path), await Deno.openKv(path)];
 *     await check({ kv, other });
 *   });
 * }
 * ```
 *
 * @module
 */
import { COMMITS } from "./commits.ts";
import { ENDS } from "./ends.ts";
import { FENCE } from "./fence.ts";
import type { KvPromise } from "./promise.ts";
import { READS } from "./reads.ts";

export type { KvHandles, KvPromise } from "./promise.ts";

/** All requirements of the contract. Each check needs an empty database. */
export const kvPromises: readonly KvPromise[] = [
  ...READS,
  ...COMMITS,
  FENCE,
  ...ENDS,
];
