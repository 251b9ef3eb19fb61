/**
 * The process of a server with durable work that acts with its person's account.
 * Each run writes the ID of its process into the file `WALK_LOG`.
 *
 * @module
 */
import { personalKey, serve, tool } from "../../src/mod.ts";

const linear = personalKey("linear", {
  api: Deno.env.get("WALK_API")!,
  check: async (fetch) => await (await fetch("/me")).text(),
});

await serve({
  name: "accounts",
  version: "1",
  tools: [
    tool({
      name: "nap",
      needs: { linear },
      task: { durable: true },
      async run(_input, { needs, step, sleep }) {
        const log = Deno.env.get("WALK_LOG")!;
        Deno.writeTextFileSync(log, `${Deno.pid}\n`, { append: true });
        const read = async () => (await needs.linear.fetch("/me")).text();
        const first = await step("first", read);
        await sleep("nap", 3);
        return `${first}, ${await step("second", read)}`;
      },
    }),
  ],
});
