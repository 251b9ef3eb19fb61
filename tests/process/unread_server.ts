/** A server whose answers are long, and whose route reads what it is sent. */
import { serve, tool } from "../../src/mod.ts";

let count = 0;

/** Makes a text of 4 MB that no other is equal to. */
const long = () => `${count++} ${"x".repeat(4_000_000)}`;

await serve({
  name: "unread",
  version: "1.0.0",
  tools: [tool({ name: "long", run: long })],
  routes(app) {
    app.post("/webhook", async (c) => c.text(`${(await c.req.text()).length}`));
    app.get("/long", (c) => c.text(long()));
  },
});
