import assert from "node:assert/strict";
import { CreateError } from "../files.ts";
import {
  parseProjectName,
  parseToolName,
  titleOf,
  variableOf,
} from "../names.ts";

Deno.test("parseProjectName() takes the last part of a path", () => {
  assert.equal(parseProjectName("my-tools"), "my-tools");
  assert.equal(parseProjectName("../deep/my_tools.v2/"), "my_tools.v2");
});

for (const name of ["", ".", "..", "-a", "a b", 'a"b', "a$b", "a/../.."]) {
  Deno.test(`parseProjectName() refuses ${JSON.stringify(name)}`, () => {
    assert.throws(() => parseProjectName(name), CreateError);
  });
}

Deno.test("parseToolName() writes every spelling in snake case", () => {
  for (const given of ["search_mail", "search-mail", "searchMail"]) {
    assert.equal(parseToolName(given), "search_mail");
  }
});

for (const name of ["", "1st", "a b", "../a", "a.b", "mod.ts", "a'"]) {
  Deno.test(`parseToolName() refuses ${JSON.stringify(name)}`, () => {
    assert.throws(() => parseToolName(name), CreateError);
  });
}

Deno.test("titleOf() and variableOf() spell a name for people and for code", () => {
  assert.equal(titleOf("search_mail"), "Search mail");
  assert.equal(titleOf("my-tools.v2"), "My tools v2");
  assert.equal(variableOf("search_mail_2"), "searchMail2");
});
