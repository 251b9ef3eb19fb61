import assert from "node:assert/strict";
import { partsOf } from "../output.ts";

Deno.test("partsOf() shows a file that is no base64 as it came, and the rest as ever", () => {
  const broken = { type: "image", data: "%", mimeType: "image/png" };
  const { texts, files } = partsOf([
    { type: "text", text: "hello" },
    broken,
    { type: "image", data: "aGk=", mimeType: "image/png" },
  ]);
  assert.deepEqual(texts, ["hello", JSON.stringify(broken)]);
  assert.deepEqual(files.map(({ bytes }) => [...bytes]), [[104, 105]]);
});
