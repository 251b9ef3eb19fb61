import assert from "node:assert/strict";
import { testServer } from "../../packages/testing/mod.ts";
import profile from "./provider_profile.ts";

Deno.test("provider_profile reads the caller's profile", async () => {
  await using server = await testServer({ tools: [profile] });
  const upstream = { "GET /me": { id: "ada" } };
  const { text } = await server.call(profile, { path: "/me" }, { upstream });
  assert.deepEqual(JSON.parse(text), { id: "ada" });
});

Deno.test("provider_profile tells what to try where the provider keeps no profile", async () => {
  await using server = await testServer({ tools: [profile] });
  const upstream = { "/userinfo": new Response("", { status: 404 }) };
  const { isError, text } = await server.call(profile, {}, { upstream });
  assert.equal(isError, true);
  assert.match(text, /answered 404 to \/userinfo\. Try another/);
});

Deno.test("provider_profile needs a provider behind the caller", async () => {
  await using server = await testServer({ tools: [profile] });
  const { isError, text } = await server.call(profile);
  assert.equal(isError, true);
  assert.match(text, /provider/);
});
