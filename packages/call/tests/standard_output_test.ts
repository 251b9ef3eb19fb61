import assert from "node:assert/strict";
import { LAYOUT } from "../../../src/core/kv/layout.ts";

Deno.test("print() says in one line that a disk is full, in every command", async () => {
  const path = await Deno.makeTempFile();
  const kv = await Deno.openKv(path);
  await kv.set(["layout"], LAYOUT);
  kv.close();
  const commands = [
    ["packages/call/mod.ts", "--help"],
    ["packages/doctor/mod.ts", "--help"],
    ["packages/create/mod.ts", "--help"],
    ["packages/operate/mod.ts", "people"],
    ["packages/operate/move.ts", path, `${path}-new`, "--dry-run"],
  ];
  for (const [program, ...args] of commands) {
    const { code, stderr } = await new Deno.Command("sh", {
      args: [
        ...["-c", 'exec "$0" "$@" > /dev/full', Deno.execPath(), "run"],
        ...["--quiet", "--allow-all", "--unstable-kv", program, ...args],
      ],
      env: { NO_COLOR: "1", KV_PATH: path },
    }).output();
    assert.match(
      new TextDecoder().decode(stderr),
      /^Standard output cannot be written: No space left on device.*\n$/,
      program,
    );
    assert.equal(code, program.includes("call") ? 3 : 1, program);
  }
  await Deno.remove(path);
});
