import assert from "node:assert/strict";
import { checkFeatures } from "../../../src/core/server/plan.ts";
import { skill } from "../../../src/skill.ts";
import {
  personalKey,
  prompt,
  resource,
  type ServerOptions,
  tool,
} from "../../../src/mod.ts";
import { FEATURES } from "../../../src/features.ts";

const crm = personalKey("crm", { api: "https://crm.example" });

const OPTIONS: [feature: string, options: Partial<ServerOptions>, RegExp][] = [
  [
    "accounts",
    {
      tools: [tool({ name: "who", needs: { crm }, run: () => "" })],
      prompts: [prompt({ name: "me", needs: { crm }, get: () => "" })],
      resources: [
        resource({ name: "it", uri: "a://b", needs: { crm }, read: () => "" }),
      ],
    },
    /tool who: needs is.*feature accounts.*\n.*resource it: needs.*\n.*prompt me/,
  ],
  [
    "approvals",
    { tools: [tool({ name: "pay", approval: {}, run: () => "" })] },
    /tool pay: approval is an option of the feature approvals, which/,
  ],
  [
    "skills",
    {
      skills: [
        skill({ files: { "SKILL.md": "---\nname: s\ndescription: d\n---" } }),
      ],
    },
    /skills is an option of the feature skills/,
  ],
];

for (const [feature, given, message] of OPTIONS) {
  Deno.test(`checkFeatures() refuses the options of ${feature} where that is left out`, () => {
    const options = { name: "n", version: "1", ...given };
    const left = FEATURES.filter(({ name }) => name !== feature);
    assert.throws(() => checkFeatures(left, options, {}), {
      name: "CatalogueError",
      message,
    });
    checkFeatures(FEATURES, options, {});
    checkFeatures(left, { name: "n", version: "1" }, {});
  });
}

for (
  const [feature, variable] of [
    ["accounts", "SECRETS_KEYS"],
    ["accounts", "ACCOUNT_IDLE_DAYS"],
    ["ledger", "OAUTH_LEDGER_DAYS"],
    ["id_jag", "OAUTH_ASSERTION_ISSUERS"],
  ]
) {
  Deno.test(`checkFeatures() refuses ${variable} where ${feature} is left out, and does not repeat it`, () => {
    const options = { name: "n", version: "1" };
    const left = FEATURES.filter(({ name }) => name !== feature);
    const env = { [variable]: "secret" };
    assert.throws(() => checkFeatures(left, options, env), (error: Error) => {
      assert.equal(error.name, "ConfigError");
      assert.match(error.message, new RegExp(`${variable}.*${feature}`));
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
    checkFeatures(FEATURES, options, env);
    checkFeatures(left, options, { [variable]: " " });
  });
}
