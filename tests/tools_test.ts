/**
 * What is shipped as a start: each sample does the one thing it shows.
 *
 * @module
 */
import assert from "node:assert/strict";
import { compileCatalogue } from "../src/protocol/catalogue.ts";
import { prompts } from "../src/prompts/mod.ts";
import { resources } from "../src/resources/mod.ts";
import { tools } from "../src/tools/mod.ts";
import {
  Events,
  INTRODUCTION,
  type Json,
  outcome,
  resultOf,
  startServer,
  type TestServer,
} from "./kit.ts";

function start(env = {}): Promise<TestServer> {
  return startServer({ tools, resources, prompts, env });
}

async function call(
  server: TestServer,
  name: string,
  input: Json = {},
  more: Json = {},
): Promise<Json> {
  const capabilities = { elicitation: {} };
  const params = { name, arguments: input, ...more };
  return await resultOf(server.call("tools/call", params, { capabilities }));
}

Deno.test("what is shipped compiles, and says what it is", () => {
  const definitions = { tools, resources, prompts };
  compileCatalogue(definitions, { serverInfo: INTRODUCTION });
  for (const item of Object.values(definitions).flat()) {
    assert(item.title, item.name);
    assert(item.description, item.name);
  }
});

Deno.test("health tells how the server is", async () => {
  await using server = await start();
  const before = Date.now();
  const { structuredContent } = await call(server, "health");
  const { timestamp, uptimeSeconds, memory, ...others } = structuredContent;
  assert(timestamp >= before && timestamp <= Date.now());
  assert(Number.isInteger(uptimeSeconds));
  assert(memory.rss > memory.heapUsed && memory.heapUsed > 0);
  assert.deepEqual(others, {
    status: "ok",
    runtime: "Deno",
    version: Deno.version.deno,
  });
});

Deno.test("health tells where it runs, where that is known", async () => {
  await using server = await start({
    DENO_DEPLOYMENT_ID: "d1",
    DENO_REGION: "r1",
    BASE_URL: "https://tools.example.com",
  });
  const answer = server.call("tools/call", { name: "health" }, {
    headers: { host: "tools.example.com" },
  });
  const { structuredContent } = await resultOf(answer);
  assert.equal(structuredContent.deployment, "d1");
  assert.equal(structuredContent.region, "r1");
});

Deno.test("whoami tells an anonymous caller and the client's own word", async () => {
  await using server = await start();
  const { structuredContent } = await call(server, "whoami");
  assert.deepEqual(structuredContent, {
    subject: "anonymous",
    client: "test",
    scopes: "all",
  });
});

Deno.test("countdown tells how far it is", async () => {
  await using server = await start();
  const response = await server.call("tools/call", {
    name: "countdown",
    arguments: { from: 1 },
  }, { meta: { progressToken: "p" } });
  const messages = await Array.fromAsync(new Events(response));
  const progress = messages.slice(0, -1).map(({ params }) => params.progress);
  assert.deepEqual(progress, [0, 1]);
  assert.equal(messages.at(-1).result.content[0].text, "Lift-off!");
});

Deno.test("countdown stops when the client leaves", async () => {
  await using server = await start();
  const response = await server.call("tools/call", {
    name: "countdown",
    arguments: { from: 60 },
  }, { meta: { progressToken: "p" } });
  const events = new Events(response);
  assert.equal((await events.read()).params.progress, 0);
  // A countdown that went on would leave its timer to the sanitizer.
  await events.close();
});

Deno.test("choose asks, and tells the three answers apart", async () => {
  await using server = await start();
  const input = { question: "Tea?", options: ["yes", "no"] };
  const asked = await call(server, "choose", input);
  assert.equal(asked.resultType, "input_required");
  const [[key, { params }]] = Object.entries<Json>(asked.inputRequests);
  assert.equal(params.message, "Tea?");
  assert.deepEqual(params.requestedSchema.properties.choice.enum, [
    "yes",
    "no",
  ]);
  const answer = async (response: Json) => {
    const more = {
      requestState: asked.requestState,
      inputResponses: { [key]: response },
    };
    return (await call(server, "choose", input, more)).content[0].text;
  };
  const accept = { action: "accept", content: { choice: "no" } };
  assert.equal(await answer(accept), "They chose: no");
  assert.match(await answer({ action: "decline" }), /rather not/);
  assert.match(await answer({ action: "cancel" }), /without an answer/);
});

Deno.test("provider_profile needs a provider behind the caller", async () => {
  await using server = await start();
  const { isError, content } = await call(server, "provider_profile");
  assert.equal(isError, true);
  assert.match(content[0].text, /provider/);
});

Deno.test("the resource with one address can be read", async () => {
  await using server = await start();
  const { contents } = await resultOf(
    server.call("resources/read", { uri: "docs://adding-a-tool" }),
  );
  assert.equal(contents[0].mimeType, "text/markdown");
  assert.match(contents[0].text, /src\/tools\/mod\.ts/);
});

Deno.test("the family of resources knows its members and no others", async () => {
  await using server = await start();
  const read = (uri: string) => outcome(server.call("resources/read", { uri }));
  const { result } = await read("time://Europe/Paris");
  assert.match(result.contents[0].text, /\d{4}/);
  assert.equal((await read("time://Europe/Atlantis")).error.code, -32602);
});

Deno.test("the samples complete their arguments", async () => {
  await using server = await start();
  const complete = async (ref: Json, name: string, value: string) => {
    const params = { ref, argument: { name, value } };
    return (await resultOf(server.call("completion/complete", params)))
      .completion.values;
  };
  const time = { type: "ref/resource", uri: "time://{+zone}" };
  assert.deepEqual(await complete(time, "zone", "paris"), ["Europe/Paris"]);
  const explain = { type: "ref/prompt", name: "explain" };
  assert.deepEqual(await complete(explain, "reader", "exp"), ["an expert"]);
});

Deno.test("the prompt fills in its arguments", async () => {
  await using server = await start();
  const { messages } = await resultOf(server.call("prompts/get", {
    name: "explain",
    arguments: { topic: "tides" },
  }));
  assert.match(messages[0].content.text, /tides to a newcomer/);
});
