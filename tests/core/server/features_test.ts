import assert from "node:assert/strict";
import { featureFaults, Plan } from "../../../src/core/server/plan.ts";
import { parseConfig } from "../../../src/core/settings/config.ts";
import { skill } from "../../../src/skill.ts";
import {
  personalKey,
  prompt,
  resource,
  type ServerOptions,
  tool,
} from "../../../src/mod.ts";
import { FEATURES } from "../../../src/features.ts";

const NONE = { complaints: [], settings: [] };

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
    /tool who: needs is.*feature accounts.*\n.*resource a:\/\/b: needs.*\n.*prompt me/,
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
  Deno.test(`featureFaults() refuses the options of ${feature} where that is left out`, () => {
    const options = { name: "n", version: "1", ...given };
    const left = FEATURES.filter(({ name }) => name !== feature);
    assert.match(
      featureFaults(left, options, {}).complaints.join("\n"),
      message,
    );
    assert.deepEqual(featureFaults(FEATURES, options, {}), NONE);
    const plain = { name: "n", version: "1" };
    assert.deepEqual(featureFaults(left, plain, {}), NONE);
    assert.throws(() => new Plan(left, options, {}), {
      name: "CatalogueError",
      message,
    });
  });
}

for (
  const [feature, variable] of [
    ["accounts", "SECRETS_KEYS"],
  ]
) {
  Deno.test(`featureFaults() refuses ${variable} where ${feature} is left out, and does not repeat it`, () => {
    const options = { name: "n", version: "1" };
    const left = FEATURES.filter(({ name }) => name !== feature);
    const env = { [variable]: "secret" };
    assert.throws(() => new Plan(left, options, env), (error: Error) => {
      assert.equal(error.name, "ConfigError");
      assert.match(error.message, new RegExp(`${variable}.*${feature}`));
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
    assert.deepEqual(featureFaults(FEATURES, options, env), NONE);
    const blank = { [variable]: " " };
    assert.deepEqual(featureFaults(left, options, blank), NONE);
  });
}

Deno.test("a setting of a feature that is left out is told to be none", () => {
  const env = { OAUTH_ASSERTION_ISSUERS: "https://id.example.com" };
  const left = FEATURES.filter(({ name }) => name !== "id_jag");
  assert.deepEqual(parseConfig(env, { features: FEATURES }).notes, []);
  assert.deepEqual(parseConfig(env, { features: left }).notes, [
    "OAUTH_ASSERTION_ISSUERS is not read: there is no such setting",
  ]);
});
