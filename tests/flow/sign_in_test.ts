import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../src/authoring/tool.ts";
import { statusOf } from "../kit/answer.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { Client } from "../kit/client.ts";
import { startOAuthServer } from "../kit/sign_in.ts";

const whoami = tool({
  name: "whoami",
  description: "Who is calling.",
  output: z.object({ subject: z.string(), name: z.string() }),
  run: (_, { caller }) => ({
    subject: caller.subject,
    name: caller.identity?.name ?? "",
  }),
});

Deno.test("a client walks from 401 to a tool call, a refresh and a revocation", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer({ tools: [whoami] });

  const refused = await server.call("tools/list");
  assert.equal(refused.status, 401);
  const challenge = refused.headers.get("www-authenticate")!;
  assert.equal(
    challenge,
    'Bearer resource_metadata="http://127.0.0.1:3000/.well-known/' +
      'oauth-protected-resource/mcp", authorization_uri="http://127.0.0.1:' +
      '3000/.well-known/oauth-authorization-server"',
  );
  await refused.body?.cancel();

  const resource = await (await server.fetch(
    "/.well-known/oauth-protected-resource/mcp",
  )).json();
  assert.equal(resource.resource, "http://127.0.0.1:3000/mcp");
  const [issuer] = resource.authorization_servers;
  const metadata = await (await server.fetch(
    "/.well-known/oauth-authorization-server",
  )).json();
  assert.equal(metadata.issuer, issuer);

  const client = await Client.register(server);
  const tokens = await client.connect();
  assert.equal(tokens.token_type, "Bearer");
  assert.equal(tokens.expires_in, 3600);

  const answer = await (await client.call(tokens.access_token, "whoami"))
    .json();
  assert.deepEqual(answer.result.structuredContent, {
    subject: "github:42",
    name: "Jo",
  });

  const { body: next } = await client.refresh(tokens.refresh_token);
  assert.notEqual(next.access_token, tokens.access_token);
  assert.equal(await statusOf(client.call(next.access_token, "whoami")), 200);

  const revoked = await server.form("/revoke", {
    token: next.refresh_token,
    client_id: client.clientId,
  });
  assert.equal(revoked.status, 200);
  assert(server.provider.log.includes("revoke"));
  const { status, body } = await client.refresh(next.refresh_token);
  assert.equal(status, 400);
  assert.equal(body.error, "invalid_grant");
});
