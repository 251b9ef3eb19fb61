/**
 * The process of a server with durable work of twenty steps, a sleep and a
 * question. What happens is written down in the file `WALK_LOG`.
 *
 * @module
 */
import * as z from "zod";
import { serve, tool } from "../../src/mod.ts";

const LOG = Deno.env.get("WALK_LOG")!;

/** Writes one line; lines of all processes are in the order of their time. */
function note(what: string, taskId: string, step = "-", value = "-"): void {
  const line = [what, taskId, step, value, Deno.pid, Date.now()].join(" ");
  Deno.writeTextFileSync(LOG, `${line}\n`, { append: true });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

await serve({
  name: "walk",
  version: "1",
  tools: [
    tool({
      name: "walk",
      task: { durable: true },
      async run(_input, { step, sleep, ask, requestId }) {
        const values: Record<string, string> = {};
        for (let n = 1; n <= 20; n++) {
          if (n === 8) await sleep("nap", 7);
          if (n === 15) {
            const schema = z.object({ sure: z.boolean() });
            const { action } = await ask({ message: "On?", schema, key: "on" });
            note("kept", requestId, "question", action);
          }
          const id = `s${n}`;
          values[id] = await step(id, async () => {
            note("run", requestId, id);
            await pause(Math.random() * 40);
            return crypto.randomUUID();
          }, { retries: 20 });
          note("kept", requestId, id, values[id]);
        }
        return JSON.stringify(values);
      },
    }),
    tool({
      name: "hold",
      task: { durable: true },
      run: (_input, { step, requestId }) =>
        step("hold", async () => {
          note("run", requestId, "hold");
          // Only the first process is held up.
          const runs = Deno.readTextFileSync(LOG).split("\n")
            .filter((line) => line.startsWith(`run ${requestId} hold`));
          if (runs.length === 1) await pause(2000);
          note("done", requestId, "hold", `${Deno.pid}`);
          return `${Deno.pid}`;
        }, { retries: 1 }),
    }),
  ],
});
