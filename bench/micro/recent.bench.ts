/** The cache in front of the database. */
import { recent } from "../../src/store/recent.ts";

const sessions = recent((name) => Promise.resolve(name));
await sessions.find("session");

Deno.bench("find() of what was read a moment ago", async () => {
  const found = sessions.find("session");
  if (found instanceof Promise) await found;
});
