import assert from "node:assert/strict";
import { CreateError } from "../files.ts";
import { parseProjectName } from "../project.ts";

Deno.test("parseProjectName() takes the last part of a path", () => {
  assert.equal(parseProjectName("my-tools"), "my-tools");
  assert.equal(parseProjectName("../deep/my_tools.v2/"), "my_tools.v2");
});

for (const name of ["", ".", "..", "-a", "a b", 'a"b', "a$b", "a/../.."]) {
  Deno.test(`parseProjectName() refuses ${JSON.stringify(name)}`, () => {
    assert.throws(() => parseProjectName(name), CreateError);
  });
}

Deno.test("create says in one line that a place takes no files", async () => {
  const file = await Deno.makeTempFile();
  const program = new URL("../mod.ts", import.meta.url).href;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", program, `${file}/x`],
    env: { NO_COLOR: "1" },
  }).output();
  await Deno.remove(file);
  assert.match(new TextDecoder().decode(stderr), /^[^\n]*directory[^\n]*\n$/);
  assert.equal(code, 1);
});
