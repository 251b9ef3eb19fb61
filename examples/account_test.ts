import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { copyIssue } from "./account.ts";

const INPUT = { repository: "acme/tea", issue: 7, teamId: "t1" };

Deno.test("copy_issue reads at GitHub and writes at Linear", async () => {
  await using server = await testServer({ tools: [copyIssue] });
  const needs = {
    github: {
      "/repos/acme/tea/issues/7": (request: Request) => {
        assert.match(request.headers.get("authorization")!, /^Bearer /);
        return Response.json({ title: "Hot", html_url: "https://x.example" });
      },
    },
    linear: {
      "POST /graphql": async (request: Request) => {
        const { variables: { input } } = await request.json();
        assert.equal(input.title, "Hot");
        const issue = { url: "https://linear.example/1" };
        return Response.json({ data: { issueCreate: { issue } } });
      },
    },
  };
  const { structured } = await server.call(copyIssue, INPUT, { needs });
  assert.deepEqual(structured, { url: "https://linear.example/1" });
});

Deno.test("copy_issue tells the model that GitHub refused", async () => {
  await using server = await testServer({ tools: [copyIssue] });
  const needs = {
    github: () => new Response(null, { status: 404 }),
    linear: {},
  };
  const { text } = await server.call(copyIssue, INPUT, { needs });
  assert.match(text, /GitHub answered 404/);
});
