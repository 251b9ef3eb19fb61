/** The errors of another MCP server's tools. */
import assert from "node:assert/strict";
import { GivenKeys } from "../../../src/core/mcp/exchange/given_keys.ts";
import { parseResult } from "../../../src/features/mcp_servers/mcp_result.ts";

Deno.test("only the beginning of a long error is searched for keys", () => {
  let longest = 0;
  class Counting extends GivenKeys {
    override hide(text: string): string {
      longest = Math.max(longest, text.length);
      return super.hide(text);
    }
  }
  const given = new Counting();
  given.add("the-key-4711");
  const text = `x the-\u200bkey-4711 ${"%25".repeat(1_000_000)}`;
  const result = { isError: true, content: [{ type: "text", text }] };
  assert.throws(() => parseResult(result, "Other", given), {
    name: "ToolError",
    message: /^Other: x \(hidden\) %25/,
  });
  assert(longest > 0 && longest <= 60_000, `${longest}`);
});
