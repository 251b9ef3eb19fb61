/**
 * The cost of unanswered questions: processor time and reads of a process that
 * waits on a database file, in steps of ten seconds.
 *
 *     deno run --allow-all bench/waiting.ts [questions]
 *
 * @module
 */
import { pause } from "../src/core/clock.ts";
import { Database } from "../src/core/kv/database.ts";
import { replyStore } from "../src/core/store/replies.ts";
import { kvWith } from "../tests/kit/kv.ts";
import { cpuSeconds } from "./process.ts";
import { print, table } from "./statistics.ts";

const QUESTIONS = Number(Deno.args[0] ?? 219);
const STEPS = 6;
const STEP_MILLISECONDS = 10_000;

const directory = await Deno.makeTempDir();
const kv = await Deno.openKv(`${directory}/waiting.db`);
const counts = { reads: 0, keys: 0 };
const counting = kvWith(kv, {
  get(...args: Parameters<Deno.Kv["get"]>) {
    counts.reads++;
    counts.keys++;
    return kv.get(...args);
  },
  getMany(...args: Parameters<Deno.Kv["getMany"]>) {
    counts.reads++;
    counts.keys += args[0].length;
    return kv.getMany(...args);
  },
});
const database = new Database(counting);
const replies = replyStore(database);
const abort = new AbortController();
const waiting = Array.from({ length: QUESTIONS }, async (_, n) => {
  await replies.expect("session", `${n}`);
  await replies.take("session", `${n}`, abort.signal).catch(() => {});
});

const lines = [];
for (let step = 1; step <= STEPS; step++) {
  const before = cpuSeconds(Deno.pid);
  const { reads, keys } = counts;
  await pause(STEP_MILLISECONDS);
  const milliseconds = (cpuSeconds(Deno.pid) - before) * 1000;
  lines.push([
    `until ${step * STEP_MILLISECONDS / 1000} s`,
    print(100 * milliseconds / STEP_MILLISECONDS),
    print((counts.reads - reads) / 10),
    print((counts.keys - keys) / 10),
  ]);
}
console.log(table(
  [`${QUESTIONS} questions`, "% of a core", "reads/s", "keys/s"],
  lines,
));
abort.abort();
await Promise.all(waiting);
await database.idle();
kv.close();
await Deno.remove(directory, { recursive: true });
