/** The official conformance suites against three processes on one database. */
import assert from "node:assert/strict";
import { ACCESS_TOKEN } from "../kit/denokv.ts";
import { REMOTE } from "../kit/remote.ts";

for (const [kind, start] of Object.entries(REMOTE)) {
  for (const suite of ["suite", "authorization"]) {
    const isThere = typeof start !== "string";
    Deno.test({
      name: `conformance (${suite}.ts) of three processes on ${kind}` +
        (isThere ? "" : `, left out: ${start}`),
      ignore: !isThere,
      async fn() {
        if (!isThere) return;
        await using database = await start();
        const { success, stdout, stderr } = await new Deno.Command(
          Deno.execPath(),
          {
            args: ["run", "--allow-all", `tests/conformance/${suite}.ts`],
            cwd: new URL("../../", import.meta.url),
            env: { KV_PATH: database.url, DENO_KV_ACCESS_TOKEN: ACCESS_TOKEN },
          },
        ).output();
        const decoder = new TextDecoder();
        const printed = decoder.decode(stdout);
        console.log(printed.trim());
        assert(success, printed + decoder.decode(stderr));
      },
    });
  }
}
