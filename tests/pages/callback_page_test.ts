import assert from "node:assert/strict";
import { parseResponse } from "../../src/pages/callback_page.tsx";
import { statusOf } from "../kit/answer.ts";
import { startOAuthServer } from "../kit/sign_in.ts";

const type = "oauth_callback";

for (
  const [query, message] of [
    ["code=1&state=s", { type, code: "1", state: "s" }],
    ["code=1", { type, code: "1", state: undefined }],
    [
      "error=access_denied&error_description=No&state=s",
      { type, error: "access_denied", error_description: "No", state: "s" },
    ],
    [
      "error=access_denied&code=1",
      {
        type,
        error: "access_denied",
        error_description: undefined,
        state: undefined,
      },
    ],
    ["code=1&other=1&other=2", { type, code: "1", state: undefined }],
    ["", undefined],
    ["state=s", undefined],
    ["code=1&code=2", undefined],
    ["code=1&state=s&state=t", undefined],
    ["error=a&error=b", undefined],
    ["error=a&error_description=b&error_description=c", undefined],
  ] as const
) {
  Deno.test(`parseResponse() reads ${query || "nothing"} as ${message ? "an answer" : "none"}`, () => {
    assert.deepEqual(parseResponse(new URLSearchParams(query)), message);
  });
}

Deno.test("GET /oauth/callback tells its opener at our own origin and the listed ones, never at any", async () => {
  await using server = await startOAuthServer({
    environment: { ALLOWED_ORIGINS: "https://app.example.com,*" },
  });
  const shown = await server.fetch("/oauth/callback?code=1&state=s");
  const text = await shown.text();
  assert.equal(shown.status, 200);
  assert.match(text, /https:\/\/app\.example\.com/);
  assert.match(text, /http:\/\/127\.0\.0\.1:3000/);
  assert.doesNotMatch(text, /["']\*["']|&quot;\*&quot;/);
  assert.equal(await statusOf(server.fetch("/oauth/callback")), 400);
});
