import assert from "node:assert/strict";
import { projectFiles } from "../project.ts";
import { CreateError } from "../files.ts";
import {
  definitionFiles,
  emptyList,
  listDefinition,
  parseDefinitionName,
  serveList,
  titleOf,
} from "../definition_files.ts";

const LIST = projectFiles({ name: "a" })["tools/mod.ts"];

Deno.test("listDefinition() adds an import and a place at the end", () => {
  const listed = listDefinition("tool", LIST, "search_mail_2")!;
  assert.match(
    listed,
    /greet\.ts";\nimport searchMail2 from "\.\/search_mail_2\.ts";\n/,
  );
  assert.match(listed, /tools: Tool\[\] = \[greet, searchMail2\];\n$/);
});

Deno.test("listDefinition() goes on with a list that is empty or takes several lines", () => {
  const empty = LIST.replace("[greet]", "[]");
  assert.match(listDefinition("tool", empty, "a")!, /= \[a\];/);
  const long = LIST.replace("[greet]", "[\n  greet,\n  wave,\n]");
  assert(
    listDefinition("tool", long, "a")!.includes(
      "= [\n  greet,\n  wave,\n  a,\n];",
    ),
  );
});

Deno.test("listDefinition() leaves a list alone that it does not know", () => {
  assert.equal(
    listDefinition("tool", "export const tools = load();\n", "a"),
    undefined,
  );
  const called = LIST.replace("Tool[] = [greet]", "Tool[] = all()");
  assert.equal(listDefinition("tool", called, "a"), undefined);
});

Deno.test("parseDefinitionName() writes every spelling in snake case", () => {
  for (const given of ["search_mail", "search-mail", "searchMail"]) {
    assert.equal(parseDefinitionName("tool", given), "search_mail");
  }
});

for (const name of ["", "1st", "a b", "../a", "a.b", "mod.ts", "a'"]) {
  Deno.test(`parseDefinitionName() refuses ${JSON.stringify(name)}`, () => {
    assert.throws(() => parseDefinitionName("tool", name), {
      name: CreateError.name,
      message: /must be letters, digits and _, with a letter first/,
    });
  });
}

Deno.test("definitionFiles() calls the tool itself in its test, so that a changed input is a type error", () => {
  const test =
    definitionFiles("tool", "search_mail")["tools/search_mail_test.ts"];
  assert.match(test, /server\.call\(searchMail, \{/);
  assert.match(test, /deno task test --no-check" runs the rest/);
});

Deno.test("titleOf() spells a name for people", () => {
  assert.equal(titleOf("search_mail"), "Search mail");
  assert.equal(titleOf("my-tools.v2"), "My tools v2");
});

Deno.test("emptyList() and serveList() begin a list, and serve it", () => {
  const server = projectFiles({ name: "a" })["server.ts"];
  const served = serveList("prompt", server)!;
  assert.match(served, /import { prompts } from "\.\/prompts\/mod\.ts";\n/);
  assert.match(served, /^ {2}tools,\n {2}prompts,\n/m);
  assert.equal(serveList("prompt", served), served);
  const listed = listDefinition("prompt", emptyList("prompt"), "hello")!;
  assert.match(listed, /import hello .*\n[^]*prompts: Prompt\[\] = \[hello\];/);
});

Deno.test("serveList() leaves a server alone that it does not know", () => {
  assert.equal(serveList("prompt", "export default make();\n"), undefined);
});
