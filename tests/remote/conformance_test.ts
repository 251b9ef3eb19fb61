/** The official conformance suites against three processes on denokv. */
import assert from "node:assert/strict";
import { ACCESS_TOKEN, Denokv, findDenokv } from "../kit/denokv.ts";

const program = await findDenokv();

for (const suite of ["suite", "authorization"]) {
  Deno.test({
    name: `conformance (${suite}.ts) of three processes on denokv` +
      (program ? "" : ", left out: no denokv, nor cargo to build it"),
    ignore: program === undefined,
    async fn() {
      await using denokv = await Denokv.start(program!);
      const { success, stdout, stderr } = await new Deno.Command(
        Deno.execPath(),
        {
          args: ["run", "--allow-all", `tests/conformance/${suite}.ts`],
          cwd: new URL("../../", import.meta.url),
          env: { KV_PATH: denokv.url, DENO_KV_ACCESS_TOKEN: ACCESS_TOKEN },
        },
      ).output();
      const decoder = new TextDecoder();
      const printed = decoder.decode(stdout);
      console.log(printed.trim());
      assert(success, printed + decoder.decode(stderr));
    },
  });
}
