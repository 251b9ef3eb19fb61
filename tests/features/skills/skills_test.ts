import assert from "node:assert/strict";
import type { Result } from "../../../src/core/mcp/exchange/answer.ts";
import type { Call } from "../../../src/core/mcp/exchange/call.ts";
import type { Method } from "../../../src/core/mcp/exchange/run.ts";
import {
  catalogueSkills,
  getSkill,
  listSkills,
  readDirectory,
} from "../../../src/features/skills/skills.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { compileCatalogue } from "../../../src/core/catalogue/catalogue.ts";
import { skill } from "../../../src/skill.ts";
import { checkCall } from "../../../src/core/mcp/exchange/check.ts";
import { ChallengeError } from "../../../src/core/errors.ts";
import { refuses } from "../../kit/refuses.ts";

const SERVER = {
  serverInfo: { name: "s", version: "1" },
  features: [catalogueSkills],
};
const catalogue = compileCatalogue({
  skills: [
    skill({
      files: { "SKILL.md": "---\nname: s\ndescription: Mail\n---\n", "a": "" },
      scopes: ["mail"],
    }),
  ],
}, SERVER);
const METHODS = { listSkills, getSkill, readDirectory };

function answerOf(
  method: Method,
  params: JsonObject,
  seen = catalogue,
): JsonObject {
  const call = {
    catalogue: seen,
    printedLists: seen.stateless,
    params,
    message: { method: "skills" },
    stateless: true,
  };
  const { result } = method(call as unknown as Call) as Result;
  return JSON.parse(result);
}

for (const [name, method] of Object.entries(METHODS)) {
  Deno.test(`${name}() is there where there are skills, though none be for the caller`, () => {
    const without = compileCatalogue({}, SERVER);
    refuses(() => answerOf(method, {}, without), -32601, 404);
    const none = catalogue.within([]);
    if (method === listSkills) {
      assert.deepEqual(answerOf(method, {}, none).skills, []);
    } else refuses(() => answerOf(method, {}, none), -32602);
  });
}

function checkMethod(method: string, uri: string, scopes: string[]): void {
  const call = {
    engine: { running: { check() {} }, limits: { charge() {} } },
    caller: { subject: "ada", binding: "ada", scopes },
    catalogue,
    message: { method, params: { uri } },
  };
  assert.equal(checkCall(call as unknown as Call), undefined);
}

for (
  const [method, uri] of [
    ["skills/get", "skill://s/SKILL.md"],
    ["resources/read", "skill://s/SKILL.md"],
    ["resources/read", "skill://s/a"],
    ["resources/directory/read", "skill://s"],
  ]
) {
  Deno.test(`${method} of ${uri} needs the scopes of the skill`, () => {
    checkMethod(method, uri, ["mail"]);
    assert.throws(() => checkMethod(method, uri, []), (error) => {
      assert.ok(error instanceof ChallengeError);
      assert.deepEqual(error.scopes, ["mail"]);
      return true;
    });
  });
}

Deno.test("methods of skills need no scope for what no skill has", () => {
  checkMethod("skills/list", "skill://s/SKILL.md", []);
  checkMethod("skills/get", "skill://s", []);
  checkMethod("resources/directory/read", "skill://s/a", []);
});
