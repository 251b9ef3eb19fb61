/**
 * Every method of both generations is sorted: guarded by the scopes of the
 * thing that it names, or open for a reason. A new method fails here until
 * someone has decided.
 */
import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../src/authoring/prompt.ts";
import { resource } from "../../src/authoring/resource.ts";
import { tool } from "../../src/authoring/tool.ts";
import { FEATURES } from "../../src/features.ts";
import { methodTables } from "../../src/core/mcp/generations/find.ts";
import { skill } from "../../src/skill.ts";
import { resultOf } from "../kit/answer.ts";
import { Client } from "../kit/client.ts";
import type { Json } from "../kit/message.ts";
import { asksOf } from "../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";

const scopes = ["private"];
const [name, uri] = ["thing", "one://thing"];

const definitions = {
  tools: [
    tool({ name, scopes, run: () => "private" }),
    tool({ name: "work", scopes, task: "required", run: () => "private" }),
    tool({ name: "open", scopes: ["open"], run: () => "open" }),
  ],
  resources: [resource({ uri, name, scopes, read: () => "private" })],
  prompts: [
    prompt({
      name,
      scopes,
      args: z.object({ topic: z.string() }),
      complete: { topic: () => ["private"] },
      get: () => "private",
    }),
  ],
  skills: [
    skill({
      files: {
        "SKILL.md": `---\nname: ${name}\ndescription: A task\n---\n`,
        "more/a.md": "private",
      },
      scopes,
    }),
  ],
};

/** Methods that name a thing, and a request for one that needs a scope. */
const GUARDED: Record<string, (taskId: string) => Json> = {
  "tools/call": () => ({ name, arguments: {} }),
  "resources/read": () => ({ uri }),
  "resources/subscribe": () => ({ uri }),
  "resources/directory/read": () => ({ uri: `skill://${name}` }),
  "prompts/get": () => ({ name, arguments: { topic: "x" } }),
  "completion/complete": () => ({
    ref: { type: "ref/prompt", name },
    argument: { name: "topic", value: "" },
  }),
  "skills/get": () => ({ uri: `skill://${name}/SKILL.md` }),
  "subscriptions/listen": () => ({
    notifications: { resourceSubscriptions: [uri] },
  }),
  "tasks/get": (taskId) => ({ taskId }),
  "tasks/update": (taskId) => ({ taskId, inputResponses: {} }),
  "tasks/cancel": (taskId) => ({ taskId }),
};

/** Methods that name nothing that needs a scope, and why that is right. */
const OPEN: Record<string, string> = {
  "initialize": "begins a session",
  "ping": "gives nothing",
  "logging/setLevel": "is about the caller's own session",
  "resources/unsubscribe": "ends what subscribing began, and gives nothing",
  "server/discover": "is what any caller may see of the server",
  "tools/list": "shows what is within the caller's reach",
  "resources/list": "shows what is within the caller's reach",
  "resources/templates/list": "shows what is within the caller's reach",
  "prompts/list": "shows what is within the caller's reach",
  "skills/list": "shows what is within the caller's reach",
};

const { session, stateless } = methodTables(
  FEATURES.flatMap(({ methods }) => methods ?? []),
);
const TABLES = { "2025": session, "2026": stateless } as const;

Deno.test("every method of both generations is sorted into guarded and open", () => {
  const methods = new Set([
    "initialize",
    ...TABLES["2025"].keys(),
    ...TABLES["2026"].keys(),
  ]);
  const sorted = [...Object.keys(GUARDED), ...Object.keys(OPEN)];
  assert.deepEqual(
    sorted.toSorted(),
    [...methods].sort(),
    "sort the new method here, and if it names a thing give it a case in " +
      "scopesFor() of src/core/mcp/exchange/check.ts",
  );
});

async function headersOf(server: OAuthServer, scope: string) {
  const client = await Client.register(server);
  const { access_token } = await client.connect({ scope });
  return { authorization: `Bearer ${access_token}` };
}

const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

for (const generation of ["2025", "2026"] as const) {
  for (const [method, paramsOf] of Object.entries(GUARDED)) {
    if (!TABLES[generation].has(method)) continue;
    Deno.test(`${method} of ${generation} asks for the scope of what it names`, async () => {
      await using server = await startOAuthServer(definitions);
      const whole = await headersOf(server, "private open");
      const { taskId } = await resultOf(
        server.call("tools/call", { name: "work", arguments: {} }, {
          headers: whole,
          capabilities,
        }),
      );
      const narrow = await headersOf(server, "open");
      const params = paramsOf(taskId);
      const response = method.startsWith("tasks/")
        ? await server.call(method, params, { headers: narrow, capabilities })
        : await (await asksOf(server, narrow))[generation](method, params);
      assert.equal(response.status, 403);
      assert.match(
        response.headers.get("www-authenticate")!,
        /error="insufficient_scope".* scope="private"/,
      );
      assert.doesNotMatch(await response.text(), /private"/);
    });
  }
}
