import assert from "node:assert/strict";
import { projectFiles } from "../project.ts";
import { listTool } from "../tool_files.ts";

const LIST = projectFiles({ name: "a" })["tools/mod.ts"];

Deno.test("listTool() adds an import and a place at the end", () => {
  const listed = listTool(LIST, "search_mail")!;
  assert.match(
    listed,
    /greet\.ts";\nimport searchMail from "\.\/search_mail\.ts";\n/,
  );
  assert.match(listed, /tools: Tool\[\] = \[greet, searchMail\];\n$/);
});

Deno.test("listTool() goes on with a list that is empty or takes several lines", () => {
  const empty = LIST.replace("[greet]", "[]");
  assert.match(listTool(empty, "a")!, /= \[a\];/);
  const long = LIST.replace("[greet]", "[\n  greet,\n  wave,\n]");
  assert(listTool(long, "a")!.includes("= [\n  greet,\n  wave,\n  a,\n];"));
});

Deno.test("listTool() leaves a list alone that it does not know", () => {
  assert.equal(listTool("export const tools = load();\n", "a"), undefined);
  const called = LIST.replace("Tool[] = [greet]", "Tool[] = all()");
  assert.equal(listTool(called, "a"), undefined);
});
