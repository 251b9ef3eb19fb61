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
