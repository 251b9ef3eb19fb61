import assert from "node:assert/strict";
import { parseResponse } from "../../../src/core/pages/callback_page.tsx";
import {} from "../../kit/answer.ts";
import {} from "../../kit/sign_in.ts";

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
