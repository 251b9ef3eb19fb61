/**
 * Every way to reach something, with scopes that a caller was granted, could be
 * granted, and can never be granted.
 */
import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../src/authoring/prompt.ts";
import { resource } from "../../src/authoring/resource.ts";
import { tool } from "../../src/authoring/tool.ts";
import { skill } from "../../src/skill.ts";
import { Meta } from "../../src/core/protocol/request_meta.ts";
import { asksOf } from "../kit/server.ts";
import { Events, isStream, resultOf, statusOf } from "../kit/answer.ts";
import type { HeadersOf, Json } from "../kit/message.ts";
import { Client } from "../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";
import { resourcesOf, taskOf } from "./scoped_definitions.ts";

const SCOPES = ["granted", "grantable", "never"] as const;
/** A name as long as `never` that is not defined. */
const UNKNOWN = "thing";

const tools = SCOPES.flatMap((scope) => [
  tool({
    name: scope,
    scopes: [scope],
    async run(_input, { resourceUpdated }) {
      for (const scope of SCOPES) await resourceUpdated(`one://${scope}`);
      return scope;
    },
  }),
  taskOf(scope),
]);
const resources = SCOPES.flatMap(resourcesOf);
const prompts = SCOPES.map((scope) =>
  prompt({
    name: scope,
    scopes: [scope],
    args: z.object({ topic: z.string() }),
    complete: { topic: () => ["a"] },
    get: ({ topic }) => topic,
  })
);
const skills = SCOPES.map((scope) =>
  skill({
    files: {
      "SKILL.md": `---\nname: ${scope}\ndescription: A task\n---\n`,
      "more.md": scope,
    },
    scopes: [scope],
  })
);
const open = tool({ name: "open", run: () => "open" });

function start(): Promise<OAuthServer> {
  return startOAuthServer({
    tools: [...tools, open],
    // This template would match every hidden URI.
    resources: [
      ...resources,
      resource({ uri: "one://{id}", name: "any", read: ({ id }) => `${id}` }),
    ],
    prompts,
    skills,
    environment: { OAUTH_PERMISSIONS: "*=granted grantable" },
  });
}

async function authorize(server: OAuthServer): Promise<HeadersOf> {
  const client = await Client.register(server);
  const { access_token, scope } = await client.connect({
    scope: "granted never",
  });
  assert.equal(scope, "granted");
  return { authorization: `Bearer ${access_token}` };
}

const WAYS: Record<string, [string, (name: string) => Json]> = {
  "calls a tool": ["tools/call", (name) => ({ name, arguments: {} })],
  "starts a task": [
    "tools/call",
    (name) => ({ name: `${name}-task`, arguments: {} }),
  ],
  "reads a resource": ["resources/read", (name) => ({ uri: `one://${name}` })],
  "reads by a template": ["resources/read", (name) => ({ uri: `${name}://1` })],
  "reads a file of a skill": [
    "resources/read",
    (name) => ({ uri: `skill://${name}/more.md` }),
  ],
  "gets a skill": [
    "skills/get",
    (name) => ({ uri: `skill://${name}/SKILL.md` }),
  ],
  "reads a directory of a skill": [
    "resources/directory/read",
    (name) => ({ uri: `skill://${name}` }),
  ],
  "gets a prompt": [
    "prompts/get",
    (name) => ({ name, arguments: { topic: "x" } }),
  ],
  "completes for a prompt": [
    "completion/complete",
    (name) => ({
      ref: { type: "ref/prompt", name },
      argument: { name: "topic", value: "" },
    }),
  ],
  "completes for a template": [
    "completion/complete",
    (name) => ({
      ref: { type: "ref/resource", uri: `${name}://{id}` },
      argument: { name: "id", value: "" },
    }),
  ],
};

for (const generation of ["2025", "2026"] as const) {
  for (const [what, [method, paramsOf]] of Object.entries(WAYS)) {
    if (generation === "2025" && what === "starts a task") continue;
    Deno.test(`a ${generation} caller ${what} with a scope, is asked for more, or finds nothing`, async () => {
      await using server = await start();
      const call = (await asksOf(server, await authorize(server)))[generation];
      const granted = await resultOf(call(method, paramsOf("granted")));
      assert(granted && !granted.isError, JSON.stringify(granted));

      const asked = await call(method, paramsOf("grantable"));
      await asked.body?.cancel();
      assert.equal(asked.status, 403);
      const challenge = asked.headers.get("www-authenticate")!;
      assert.match(challenge, /error="insufficient_scope"/);
      assert.match(challenge, / scope="grantable"/);

      const never = await call(method, paramsOf("never"));
      // The template that matches everything must not answer instead.
      const unknown = what === "reads a resource"
        ? await call(method, { uri: `two://${UNKNOWN}` })
        : await call(method, paramsOf(UNKNOWN));
      const text = (await unknown.text()).replaceAll(UNKNOWN, "never")
        .replaceAll("two://", "one://");
      assert.equal(await never.text(), text);
      assert.equal(never.status, unknown.status);
      assert.deepEqual([...never.headers], [...unknown.headers]);
      const code = generation === "2025" && method === "resources/read"
        ? -32002
        : -32602;
      assert.equal(JSON.parse(text).error.code, code);
    });
  }

  Deno.test(`lists of ${generation} show what a caller could use`, async () => {
    await using server = await start();
    const call = (await asksOf(server, await authorize(server)))[generation];
    const namesIn = async (method: string, member: string) => {
      const result = await resultOf(call(method, {}));
      if (generation === "2026") assert.equal(result.cacheScope, "private");
      return result[member].map(({ name }: Json) => name);
    };
    const tasks = (names: string[]) =>
      names.flatMap((name) => [name, `${name}-task`]);
    assert.deepEqual(await namesIn("tools/list", "tools"), [
      ...tasks(["granted", "grantable"]),
      "open",
      // The client of 2026 has tasks.
      ...generation === "2025" ? ["task_status", "task_cancel"] : [],
    ]);
    assert.deepEqual(await namesIn("resources/list", "resources"), [
      ...["granted", "grantable"],
      // The files SKILL.md of their skills.
      ...["granted", "grantable"],
    ]);
    const { skills } = await resultOf(call("skills/list", {}));
    assert.deepEqual(
      skills.map(({ frontmatter }: Json) => frontmatter.name),
      ["granted", "grantable"],
    );
    assert.deepEqual(
      await namesIn("resources/templates/list", "resourceTemplates"),
      ["granted-template", "grantable-template", "any"],
    );
    assert.deepEqual(await namesIn("prompts/list", "prompts"), [
      "granted",
      "grantable",
    ]);
  });
}

Deno.test("a subscription tells of what a caller was granted, and keeps still about what is not there", async () => {
  await using server = await start();
  const { "2026": call } = await asksOf(server, await authorize(server));
  const listen = (...names: string[]) =>
    call("subscriptions/listen", {
      notifications: {
        resourceSubscriptions: names.map((name) => `one://${name}`),
      },
    });
  const asked = await listen("granted", "grantable");
  await asked.body?.cancel();
  assert.equal(asked.status, 403);
  assert.match(
    asked.headers.get("www-authenticate")!,
    / scope="granted grantable"/,
  );

  const response = await listen("never", UNKNOWN, "granted");
  assert(isStream(response));
  const events = new Events(response);
  const { params } = await events.read();
  assert.deepEqual(params.notifications.resourceSubscriptions, [
    "one://never",
    `one://${UNKNOWN}`,
    "one://granted",
  ]);
  for (let time = 0; time < 2; time++) {
    await resultOf(call("tools/call", { name: "granted", arguments: {} }));
    const { method, params } = await events.read();
    assert.equal(method, "notifications/resources/updated");
    assert.equal(params.uri, "one://granted");
    assert(Meta.subscriptionId in params._meta);
  }
  await events.close();
});

Deno.test("strangers are shown what needs no scope, where callers differ", async () => {
  await using server = await start();
  for (const path of ["/", "/llms.txt"]) {
    const response = await server.fetch(path, {
      headers: { accept: "text/html" },
    });
    const text = await response.text();
    assert.match(text, /open/);
    assert.doesNotMatch(text, /never/);
  }
});

Deno.test("without permissions every caller sees the same lists", async () => {
  await using server = await startOAuthServer({ tools });
  const client = await Client.register(server);
  const { access_token } = await client.connect({ scope: "granted" });
  const { tools: listed, cacheScope } = await resultOf(
    server.call("tools/list", {}, {
      headers: { authorization: `Bearer ${access_token}` },
    }),
  );
  assert.equal(listed.length, tools.length + 2);
  // A client with tasks sees another list.
  assert.equal(cacheScope, "private");
  assert.equal(await statusOf(client.call(access_token, "never")), 403);
});
