import assert from "node:assert/strict";
import { withSecuritySchemes } from "../../../src/core/catalogue/descriptions.ts";

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
