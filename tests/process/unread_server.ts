/** A server whose answers are long, and whose route reads what it is sent. */
import { serve, tool } from "../../src/mod.ts";

let count = 0;

/** Makes a text of 12 MB, more than a proxy keeps, that no other is equal to. */
const long = () => `${count++} ${"x".repeat(12_000_000)}`;

/** Makes one of 15 kB. */
const short = () => `${count++} ${"x".repeat(15_000)}`;

await serve({
  name: "unread",
  version: "1.0.0",
  tools: [
    tool({ name: "long", run: long }),
    tool({ name: "short", run: short }),
  ],
  routes(app) {
    app.post("/webhook", async (c) => c.text(`${(await c.req.text()).length}`));
    app.get("/long", (c) => c.text(long()));
    app.get("/short", (c) => c.text(short()));
  },
});
