import { pause } from "../src/core/clock.ts";

Deno.test("pause() ends with a signal, and waits for none that has fired", async () => {
  const abort = new AbortController();
  const waiting = pause(2 ** 31 - 1, abort.signal);
  abort.abort();
  await waiting;
  await pause(2 ** 31 - 1, abort.signal);
});
