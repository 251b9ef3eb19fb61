import assert from "node:assert/strict";
import type { Result } from "../../../src/core/mcp/exchange/answer.ts";
import type { Call } from "../../../src/core/mcp/exchange/call.ts";
import type { Method } from "../../../src/core/mcp/exchange/run.ts";
import {
  getSkill,
  listSkills,
  readDirectory,
} from "../../../src/features/skills/skills.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { compileCatalogue } from "../../../src/core/catalogue/catalogue.ts";
import { skill } from "../../../src/skill.ts";
import { refuses } from "../../kit/refuses.ts";

const SERVER = { serverInfo: { name: "s", version: "1" } };
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
