import assert from "node:assert/strict";
import { parseEnvironmentFile } from "../../src/core/process/environment_file.ts";

for (
  const [text, lines] of [
    ["", []],
    ["# PORT 1\n\nPORT=1\r\nexport HOST = a\n  A.b-c=\n", []],
    ["PORT 3108\nHOST=a\nPORT: 1\n=1\n", [1, 3, 4]],
    ["A B=1\nexport A\n1A=1", [1, 2, 3]],
    ['KEY="a\nb c\nd"\nPORT 1\n', [4]],
    ["KEY='a\nPORT 1\n", [2]],
    ["PORT=\nHOST=a\nPORT=1\n#PORT=2\n", [3]],
    ["KEY='a\nb=1'\nb=2\nKEY='\nx y'\n", [4]],
    ["KEY='a' b\nPORT 1\n", [2]],
  ] as const
) {
  Deno.test(`parseEnvironmentFile() finds ${JSON.stringify(lines)} in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(parseEnvironmentFile(text).broken, lines);
  });
}

Deno.test("parseEnvironmentFile() lists the names that have a value", () => {
  const text = "A=1\nexport B='x\ny=2'\n# C=3\nD=\nbroken\n";
  assert.deepEqual(parseEnvironmentFile(text).names, ["A", "B"]);
});
