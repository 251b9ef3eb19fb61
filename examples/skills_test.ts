import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { server as options } from "./skills.ts";

Deno.test("the skill names tools that there are, and brings its files along", async () => {
  await using server = await testServer(options);
  const [{ uri, frontmatter, resources }] = await server.skills();
  assert.equal(frontmatter.name, "refunds");
  assert.deepEqual(resources.map(({ uri }) => uri), [
    "skill://refunds/SKILL.md",
    "skill://refunds/references/terms.md",
  ]);
  const { text } = await server.read(uri);
  const { tools } = await server.list();
  for (const [, name] of text.matchAll(/`(\w+)`/g)) {
    assert(tools.some((tool) => tool.name === name), name);
  }
  const terms = await server.read(resources[1].uri);
  assert.match(terms.text, /Within 30 days/);
});
