import assert from "node:assert/strict";
import { projectFiles } from "../project.ts";
import { CreateError } from "../files.ts";
import { listTool, parseToolName, titleOf, toolFiles } from "../tool_files.ts";

const LIST = projectFiles({ name: "a" })["tools/mod.ts"];

Deno.test("listTool() adds an import and a place at the end", () => {
  const listed = listTool(LIST, "search_mail_2")!;
  assert.match(
    listed,
    /greet\.ts";\nimport searchMail2 from "\.\/search_mail_2\.ts";\n/,
  );
  assert.match(listed, /tools: Tool\[\] = \[greet, searchMail2\];\n$/);
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

Deno.test("parseToolName() writes every spelling in snake case", () => {
  for (const given of ["search_mail", "search-mail", "searchMail"]) {
    assert.equal(parseToolName(given), "search_mail");
  }
});

for (const name of ["", "1st", "a b", "../a", "a.b", "mod.ts", "a'"]) {
  Deno.test(`parseToolName() refuses ${JSON.stringify(name)}`, () => {
    assert.throws(() => parseToolName(name), {
      name: CreateError.name,
      message: /must be letters, digits and _, with a letter first/,
    });
  });
}

Deno.test("toolFiles() calls the tool itself in its test, so that a changed input is a type error", () => {
  const test = toolFiles("search_mail")["tools/search_mail_test.ts"];
  assert.match(test, /server\.call\(searchMail, input\)/);
});

Deno.test("titleOf() spells a name for people", () => {
  assert.equal(titleOf("search_mail"), "Search mail");
  assert.equal(titleOf("my-tools.v2"), "My tools v2");
});
