/**
 * The queues of approvals, one for each scope whose holders may approve.
 *
 * @module
 */
import { type Database, isFound } from "../../core/kv/database.ts";
import { listedWaitKey, waitsOfKey } from "../../core/kv/keys.ts";
import { approvalListName, type WaitRecord } from "../questions/wait_record.ts";
import type { Wait, WaitStore } from "../questions/waits.ts";

/** The number of approvals that are read at once, of up to 60 KB each. */
const QUEUED_PER_READ = 100;

/** Returns the key of an approval from its key in a queue. */
function queuedWaitKey(place: Deno.KvKey): Deno.KvKey {
  const [word, name] = listedWaitKey(place);
  return [word, String(name).split(" ")[1]];
}

/**
 * Yields the approvals for a scope in batches. Those that close first come
 * first.
 */
export async function* queued(
  database: Database,
  { readOpen }: Pick<WaitStore, "readOpen">,
  scope: string,
): AsyncGenerator<Wait[]> {
  const list = waitsOfKey(approvalListName(scope));
  for await (const part of database.listInParts(list, QUEUED_PER_READ)) {
    const keys = part.map(({ key }) => queuedWaitKey(key));
    const found = await database.getMany<WaitRecord[]>(keys);
    yield await readOpen(found.filter(isFound));
  }
}
