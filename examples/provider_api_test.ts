import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { listIssues } from "./provider_api.ts";

Deno.test("list_issues reads the provider's API", async () => {
  await using server = await testServer({ tools: [listIssues] });
  const upstream = { "/issues?per_page=2": [{ title: "Tea is cold" }] };
  const { structured } = await server.call(listIssues, { limit: 2 }, {
    upstream,
  });
  assert.deepEqual(structured, { titles: ["Tea is cold"] });
});

Deno.test("list_issues tells the model that the provider failed", async () => {
  await using server = await testServer({ tools: [listIssues] });
  const upstream = () => new Response(null, { status: 502 });
  const { isError, text } = await server.call(listIssues, {}, { upstream });
  assert.equal(isError, true);
  assert.match(text, /502/);
});
