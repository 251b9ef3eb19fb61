import assert from "node:assert/strict";
import { Notices, partsOf } from "../output.ts";

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

Deno.test("Notices shows a state of a task once, and a page that waits for the person as such", () => {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const notices = new Notices(
    { report: write, progress: write } as never,
    true,
  );
  const wait = "Connect your account\nhttps://tools.example.com/connect/crm";
  for (const statusMessage of [undefined, "1 of 2", "1 of 2", wait, wait]) {
    notices.showTask({ taskId: "t", status: "working", statusMessage });
  }
  assert.deepEqual(lines, [
    "[working]",
    "[working] 1 of 2",
    `It waits: ${wait}`,
  ]);
});
