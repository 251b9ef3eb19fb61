/**
 * The process of a server with a tool whose calls wait for approval. Each run
 * writes its beginning and its end into the file `APPROVAL_LOG`.
 *
 * @module
 */
import * as z from "zod";
import { serve, tool } from "../../src/mod.ts";

await serve({
  name: "approvals",
  version: "1",
  tools: [tool({
    name: "wipe",
    input: z.object({ id: z.string() }),
    approval: { expiresIn: 3600 },
    async run({ id }, { approval }) {
      const note = (what: string) =>
        Deno.writeTextFileSync(
          Deno.env.get("APPROVAL_LOG")!,
          `${what} ${id} ${approval!.id} ${Deno.pid}\n`,
          { append: true },
        );
      note("begin");
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      note("end");
      return "wiped";
    },
  })],
});
