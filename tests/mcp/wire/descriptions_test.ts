import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../../src/authoring/prompt.ts";
import {
  listPrompt,
  withSecuritySchemes,
} from "../../../src/mcp/catalogue/descriptions.ts";

type Listed = Parameters<typeof withSecuritySchemes>[0];

Deno.test("withSecuritySchemes() asks for a sign-in where a tool needs scopes, at both places", () => {
  const listed = { name: "a", _meta: { b: 1 } } as unknown as Listed;
  for (
    const [scopes, schemes] of [
      [undefined, [{ type: "noauth" }, { type: "oauth2" }]],
      [[], [{ type: "noauth" }, { type: "oauth2" }]],
      [["x"], [{ type: "oauth2", scopes: ["x"] }]],
    ] as const
  ) {
    const { securitySchemes, _meta } = withSecuritySchemes(listed, scopes);
    assert.deepEqual(securitySchemes, schemes);
    assert.deepEqual(_meta, { securitySchemes: schemes, b: 1 });
  }
});

Deno.test("listPrompt() shows arguments where there are some", () => {
  const get = () => "";
  assert(!("arguments" in listPrompt(prompt({ name: "a", get }))));
  const args = z.object({
    topic: z.string().describe("What for"),
    tone: z.string().optional(),
  });
  assert.deepEqual(listPrompt(prompt({ name: "a", args, get })).arguments, [
    { name: "topic", description: "What for", required: true },
    { name: "tone", required: false },
  ]);
});
