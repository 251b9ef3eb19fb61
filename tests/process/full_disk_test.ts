/** A database file on a disk that is full. */
import assert from "node:assert/strict";
import { statusOf } from "../kit/answer.ts";
import { openSession } from "../kit/process.ts";
import { until } from "../kit/wait.ts";
import { childrenOf, Cores } from "./cores.ts";

/** Runs the command with its database on a small disk that no one else sees. */
const ON_SMALL_DISK = `exec unshare --map-root-user --mount sh -c '
  mount -t tmpfs -o size=3m none "\${KV_PATH%/*}" && exec "$0" "$@"' \
  "${Deno.execPath()}" "$@"`;

/** The time that all records are made older: more than any is kept. */
const YEARS_MILLISECONDS = 3 * 365 * 24 * 60 * 60 * 1000;

/** Makes the records of servers older, in the place where their disk is. */
async function makeOlder({ pid, kvPath }: Cores): Promise<void> {
  const program = `const { DatabaseSync } = await import("node:sqlite");
    new DatabaseSync("${kvPath}").exec("update kv set expiration_ms = " +
      "expiration_ms - ${YEARS_MILLISECONDS} where expiration_ms > 0");`;
  const { code, stderr } = await new Deno.Command("nsenter", {
    args: [
      ...[`--target=${pid}`, "--user", "--preserve-credentials", "--mount"],
      ...[Deno.execPath(), "eval", program],
    ],
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
}

Deno.test({
  name:
    "servers on a full disk live on with expired records, and serve again once there is room",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using cores = new Cores({}, ON_SMALL_DISK);
    await cores.prints(/"Listening"[\s\S]*"Listening"/);
    const ready = () => statusOf(fetch(`${cores.origin}/ready`)).catch(() => 0);
    const file = `/proc/${cores.pid}/root${cores.kvPath}`;
    for (let n = 0; n < 10; n++) await openSession(cores.origin);
    await makeOlder(cores);
    {
      using filling = await Deno.open(`${file}.fill`, {
        create: true,
        write: true,
      });
      const bytes = new Uint8Array(10_000);
      await assert.rejects(async () => {
        for (;;) await filling.write(bytes);
      }, /No space left/);
    }
    await until(async () => await ready() === 503);
    // A process that starts collects first: Deno's own collection fails here.
    for (const pid of await childrenOf(cores)) Deno.kill(pid, "SIGKILL");
    await cores.prints(/("A process ended[^]*){2}("Listening"[^]*){2}/);
    await Deno.remove(`${file}.fill`);
    await until(async () => await ready() === 200);
    await openSession(cores.origin);
    assert.doesNotMatch(cores.output, /panicked/);
  },
});
