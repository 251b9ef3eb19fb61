import assert from "node:assert/strict";
import { testMcpServer, testServer } from "@tool-server/tool-server/testing";
import { reportFault } from "./mcp_server.ts";

const FAULT = { title: "No tea", seen: "An empty cup." };

Deno.test("report_fault creates an issue of the team, as the caller", async () => {
  await using server = await testServer({ tools: [reportFault] });
  const linear = testMcpServer({
    create_issue: ({ team, title }) => `Created ${title} for ${team}`,
  });
  const { text } = await server.call(reportFault, FAULT, { needs: { linear } });
  assert.equal(text, "Created No tea for Product");
});

Deno.test("report_fault tells the model what Linear refuses", async () => {
  await using server = await testServer({ tools: [reportFault] });
  const linear = testMcpServer({
    create_issue() {
      throw new Error("No team is called Product");
    },
  });
  const { isError, text } = await server.call(reportFault, FAULT, {
    needs: { linear },
  });
  assert.equal(isError, true);
  assert.match(text, /No team is called Product/);
});
