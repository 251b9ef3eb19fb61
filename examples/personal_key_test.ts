import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { findIssues } from "./personal_key.ts";

Deno.test("find_issues asks Linear with the caller's key", async () => {
  await using server = await testServer({ tools: [findIssues] });
  const needs = {
    linear: {
      "POST /graphql": async (request: Request) => {
        assert.equal(request.headers.get("authorization"), "personal-key");
        const { variables: { word } } = await request.json();
        const nodes = [{ title: `About ${word}` }];
        return Response.json({ data: { searchIssues: { nodes } } });
      },
    },
  };
  const { structured } = await server.call(findIssues, { word: "tea" }, {
    needs,
  });
  assert.deepEqual(structured, { titles: ["About tea"] });
});

Deno.test("find_issues tells the model that Linear failed", async () => {
  await using server = await testServer({ tools: [findIssues] });
  const needs = { linear: () => new Response(null, { status: 502 }) };
  const { isError, text } = await server.call(findIssues, { word: "tea" }, {
    needs,
  });
  assert.equal(isError, true);
  assert.match(text, /502/);
});
