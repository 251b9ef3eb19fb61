/**
 * A client that wants a run without its person, case by case with counts: it
 * accepts everything by itself, changes what it sends, replays, and comes by
 * every way to a tool. Each case attacks three times: before the press, between
 * the press and the call that it is for, and after that. No run may begin
 * without a press, and one alone with it.
 */
import assert from "node:assert/strict";
import { createServer } from "../../../src/server.ts";
import { type Around, type Tool, tool, z } from "../../../src/mod.ts";
import { messageOf } from "../../../src/core/thrown.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../../src/core/oauth/client.ts";
import { AccountVisitor, csrfOf } from "../../kit/account_visitor.ts";
import { Events, resultOf } from "../../kit/answer.ts";
import { startAssertionProvider } from "../../kit/assertion_provider.ts";
import { browserOf } from "../../kit/browser.ts";
import type { Client } from "../../kit/client.ts";
import { test } from "../../kit/databases.ts";
import { SILENT } from "../../kit/log.ts";
import { type HeadersOf, type Json, rpc } from "../../kit/message.ts";
import { BASE_URL, IMPLEMENTATION, postForm } from "../../kit/server.ts";
import { OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import { FORMS, linkOf, OPENS } from "./approving.ts";

/** Every run that began, and every run of the author's hook around it. */
const ran: { id: string; input: Json }[] = [];
let hooked = 0;

const around: Around = (_call, next) => {
  hooked++;
  return next();
};

const NAMES = ["wipe", "wipe_all", "view", "long", "durable"] as const;

function toolsOf(title: string): Tool[] {
  return NAMES.map((name) =>
    tool({
      name,
      title,
      input: z.object({
        name: z.string(),
        count: z.number().default(1),
        more: z.looseObject({}).optional(),
      }),
      ...name === "view" && { visibility: ["app"] as const },
      ...name === "long" && { task: "optional" as const },
      ...name === "durable" && { task: { durable: true } },
      approval: { show: ({ name }) => ({ title: `Wipe ${name}` }) },
      run(input, { approval }) {
        ran.push({ id: approval!.id, input });
        return "wiped";
      },
    })
  );
}

const SECRET = "a-secret-of-many-letters";

const ENV = {
  BASE_URL,
  AUTH_STRATEGY: "oauth",
  OAUTH_PROVIDER: "github",
  OAUTH_CLIENT_ID: "our-client",
  OAUTH_CLIENT_SECRET: "our-secret",
  CALLS_PER_MINUTE: "0",
};

/** The servers of all cases: two processes, and two of other releases. */
interface Place {
  server: OAuthServer;
  second: OAuthServer;
  released: OAuthServer;
  changed: OAuthServer;
  /** The headers of a machine that an identity provider vouches for. */
  vouched: HeadersOf;
}

interface CallOptions {
  headers?: HeadersOf;
  at?: OAuthServer;
  capabilities?: Json;
  /** Parameters beside the arguments. */
  more?: Json;
}

/** One case: a person, their client, and a call that it wants to run. */
class Scene {
  calls = 0;
  /** Calls that wait until someone presses. */
  held: Promise<Json>[] = [];
  /** The link of the approval. */
  link = "";
  readonly input: Json;
  client!: Client;
  tokens: Json;
  headers!: HeadersOf;
  visitor!: AccountVisitor;
  /** The things that a case keeps between its attacks. */
  kept: Json = {};

  constructor(
    readonly place: Place,
    readonly subject: string,
    readonly tool: string,
    readonly isTask: boolean,
  ) {
    this.input = { name: "a", count: 2, more: { x: 1, y: [2] } };
  }

  async connect(): Promise<void> {
    const { server } = this.place;
    server.provider.subject = this.subject;
    Object.assign(this, await server.person());
    this.visitor = await AccountVisitor.signIn(server, { as: this.subject });
  }

  /** Another connection of some person. */
  async another(as = this.subject, client?: Client): Promise<HeadersOf> {
    const { server } = this.place;
    server.provider.subject = as;
    if (!client) return (await server.person()).headers;
    const { access_token } = await client.connect();
    return { authorization: `Bearer ${access_token}` };
  }

  send(
    input: Json = this.input,
    name = this.tool,
    { headers = this.headers, at = this.place.server, ...options }:
      CallOptions = {},
  ): Promise<Response> {
    this.calls++;
    const { capabilities = FORMS, more = {} } = options;
    return at.call("tools/call", { name, arguments: input, ...more }, {
      headers,
      capabilities,
    });
  }

  async call(...call: Parameters<Scene["send"]>): Promise<Json> {
    return await resultOf(this.send(...call));
  }

  /** Sends what is held until someone presses. */
  hold(response: Promise<Response>): void {
    this.held.push(response.then(resultOf).catch(() => undefined));
  }

  async session(headers = this.headers, capabilities: Json = FORMS) {
    return await this.place.server.openSession({ headers, capabilities });
  }

  /** Begins a task; returns its link, or its text once it has ended. */
  async task(name: string, headers = this.headers) {
    const { taskId } = await this.call(this.input, name, {
      headers,
      capabilities: { ...FORMS, ...TASKS },
    });
    return { taskId, link: await this.readTask(taskId, headers) };
  }

  async readTask(taskId: string, headers = this.headers): Promise<string> {
    const capabilities = { ...FORMS, ...TASKS };
    const { server } = this.place;
    let text = "";
    await until(async () => {
      const task = await resultOf(
        server.call("tasks/get", { taskId }, { headers, capabilities }),
      );
      text = task.result?.content[0].text ??
        /http\S*/.exec(task.statusMessage ?? "")?.[0];
      return task.status !== "working" || text !== undefined;
    });
    return text;
  }

  /** Asks for the call that the person will allow. */
  async ask(): Promise<void> {
    if (!this.isTask) this.link = linkOf(await this.call());
    else Object.assign(this, { kept: await this.task(this.tool) });
    this.link ||= this.kept.link;
  }

  /** The person presses twice, in two processes at once. */
  async press(answer: string): Promise<void> {
    const { visitor: { browser }, link, place } = this;
    const page = await browser.open(link);
    const twin = browserOf(place.second);
    for (const [name, value] of browser.cookies) twin.cookies.set(name, value);
    await Promise.all([browser, twin].map((own) =>
      new AccountVisitor(own, page)
        .press(new URL(link).pathname, { answer, reason: "" })
    ));
  }

  /** The call that was allowed. */
  async use(): Promise<void> {
    if (this.isTask) {
      await until(async () =>
        !(await this.readTask(this.kept.taskId)).startsWith("http")
      );
    } else await this.call();
  }
}

interface Case {
  attack(scene: Scene): Promise<unknown>;
  /** The tool of the call that is allowed. */
  tool?: typeof NAMES[number];
  isTask?: boolean;
  /** True if the attack is the call itself, which may use its approval. */
  isOwn?: boolean;
  /** The answer of the person. */
  answer?: "approve" | "refuse";
  /** The runs in the end: one by default. */
  runs?: 0;
  /** True if the attack ends the approval, and so comes after the press. */
  isEnd?: boolean;
}

const SPELLINGS = [
  '{"more":{"y":[2.0],"x":1e0},"count":2.0,"name":"\\u0061"}',
  '{"count":20e-1,"more":{"x":1,"y":[2]},"name":"a"}',
  '{"name":"a","count":2,"more":{"x":1,"y":[2]},"unknown":1}',
  '{"name":"b","name":"a","count":2,"more":{"x":1,"y":[2]}}',
  '{"name":"a","count":2,"more":{"x":1,"y":[2],"__proto__":{"z":1}}}',
];

const OTHERS = [
  '{"name":"A","count":2,"more":{"x":1,"y":[2]}}',
  '{"name":"a ","count":2,"more":{"x":1,"y":[2]}}',
  '{"name":"\\u0430","count":2,"more":{"x":1,"y":[2]}}',
  '{"name":"a\\u0000","count":2,"more":{"x":1,"y":[2]}}',
  '{"name":"a\\u200b","count":2,"more":{"x":1,"y":[2]}}',
  '{"name":"\\uff41","count":2,"more":{"x":1,"y":[2]}}',
  '{"name":"\\u00e1","count":2}',
  '{"name":"a\\u0301","count":2}',
  '{"name":"a","count":3,"more":{"x":1,"y":[2]}}',
  '{"name":"a","count":-2,"more":{"x":1,"y":[2]}}',
  '{"name":"a","more":{"x":1,"y":[2]}}',
  '{"name":"a","count":2,"more":{"x":1,"y":[2,null]}}',
  '{"name":"a","count":2,"more":{"x":"1","y":[2]}}',
  '{"name":"a","count":2,"more":{"X":1,"y":[2]}}',
  '{"name":"a","count":2}',
];

const ACCEPT = { action: "accept", content: { approved: true, confirm: true } };

/** The answers that a client makes to all questions of a result. */
function acceptOf({ inputRequests, requestState }: Json) {
  const inputResponses = Object.fromEntries(
    Object.keys(inputRequests ?? { "tool-server-approval": {} })
      .map((key) => [key, ACCEPT]),
  );
  return { requestState, inputResponses };
}

const CASES: Record<string, Case> = {
  "accepts every address by itself": {
    isOwn: true,
    async attack(scene) {
      const asked = await scene.call(undefined, undefined, {
        capabilities: OPENS,
      });
      scene.hold(scene.send(undefined, undefined, {
        capabilities: OPENS,
        more: acceptOf(asked),
      }));
    },
  },
  "accepts what no one asked it": {
    isOwn: true,
    async attack(scene) {
      for (const capabilities of [FORMS, {}]) {
        const asked = await scene.call(undefined, undefined, { capabilities });
        await scene.call(undefined, undefined, {
          capabilities,
          more: acceptOf(asked),
        });
      }
    },
  },
  "accepts every address by itself, in 2025": {
    isOwn: true,
    async attack(scene) {
      const session = await scene.session(scene.headers, OPENS);
      scene.calls++;
      const response = await session.request("tools/call", {
        name: scene.tool,
        arguments: scene.input,
      });
      const events = new Events(response);
      const { id, params, result } = await events.read();
      // Its own call has used the approval, or told the link in a text.
      if (result) return;
      assert.match(params.url, /\/approve\//);
      await (await session.post({ jsonrpc: "2.0", id, result: ACCEPT })).body
        ?.cancel();
      scene.held.push(
        events.read().then((message) => message?.result).catch(() => {}),
      );
    },
  },
  "replays its requests, and the states that it got": {
    isOwn: true,
    async attack(scene) {
      const asked = await scene.call(undefined, undefined, {
        capabilities: OPENS,
      });
      const states: Json[] = scene.kept.states ??= [];
      states.push(acceptOf(asked));
      for (const more of states) {
        scene.hold(
          scene.send(undefined, undefined, { capabilities: OPENS, more }),
        );
      }
    },
  },
  "sends a batch of three, in 2025-03-26": {
    isOwn: true,
    async attack(scene) {
      const session = await scene.place.server.openSession({
        headers: scene.headers,
        revision: "2025-03-26",
      });
      scene.calls += 3;
      const params = { name: scene.tool, arguments: scene.input };
      const response = await session.post(
        [1, 2, 3].map((id) => rpc("tools/call", params, id)),
      );
      await response.text();
    },
  },
  "spells the same arguments in other ways": {
    isOwn: true,
    async attack(scene) {
      const links = [];
      for (const spelling of SPELLINGS) {
        const result = await scene.call(JSON.parse(spelling));
        if (result.isError) links.push(linkOf(result));
      }
      assert.ok(new Set(links).size <= 1, String(links));
      if (ran.length === scene.kept.length) {
        assert.deepEqual(new Set(links), new Set([scene.link]));
      }
    },
  },
  "calls in the other generation": {
    isOwn: true,
    async attack(scene) {
      const session = await scene.session();
      scene.calls++;
      await resultOf(session.request("tools/call", {
        name: scene.tool,
        arguments: scene.input,
      }));
    },
  },
  "refreshes its token": {
    isOwn: true,
    async attack(scene) {
      const { body } = await scene.client.refresh(scene.tokens.refresh_token);
      scene.tokens = body;
      const headers = { authorization: `Bearer ${body.access_token}` };
      await scene.call(undefined, undefined, { headers });
    },
  },
  "signs its person in again": {
    isOwn: true,
    async attack(scene) {
      const headers = await scene.another(scene.subject, scene.client);
      await scene.call(undefined, undefined, { headers });
    },
  },
  "calls from its view": {
    isOwn: true,
    tool: "view",
    attack: (scene) =>
      scene.call(undefined, undefined, {
        capabilities: {
          ...FORMS,
          extensions: { "io.modelcontextprotocol/ui": {} },
        },
      }),
  },
  "calls twenty times in each of two processes": {
    isOwn: true,
    attack: (scene) =>
      Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          scene.call(undefined, undefined, {
            at: index % 2 ? scene.place.second : scene.place.server,
          })),
      ),
  },
  "changes its arguments": {
    async attack(scene) {
      const links = [];
      for (const other of OTHERS) {
        links.push(linkOf(await scene.call(JSON.parse(other))));
      }
      assert.equal(new Set([scene.link, ...links]).size, OTHERS.length + 1);
    },
  },
  "says in its arguments that it is approved": {
    attack: (scene) =>
      scene.call({
        ...scene.input,
        more: { confirm: true, approved: true, approval: { id: scene.link } },
      }),
  },
  "answers with the state of another call": {
    async attack(scene) {
      const states: Json[] = scene.kept.states ??= [];
      const asked = await scene.call(undefined, "wipe_all", {
        capabilities: OPENS,
      });
      states.push(acceptOf(asked));
      for (const more of states) {
        scene.hold(scene.send({ name: "b" }, undefined, {
          capabilities: OPENS,
          more,
        }));
      }
    },
  },
  "comes with another client of its person": {
    async attack(scene) {
      const headers = await scene.another();
      await scene.call(undefined, undefined, { headers });
    },
  },
  "comes with another client of its person, in 2025": {
    async attack(scene) {
      const session = await scene.session(await scene.another());
      scene.calls++;
      await resultOf(session.request("tools/call", {
        name: scene.tool,
        arguments: scene.input,
      }));
    },
  },
  "comes with a personal token": {
    async attack(scene) {
      const token = scene.kept.token ??= await scene.visitor.makeToken();
      const headers = { authorization: `Bearer ${token}` };
      await scene.call(undefined, undefined, { headers });
    },
  },
  "comes for another person": {
    async attack(scene) {
      const headers = await scene.another("666", scene.client);
      await scene.call(undefined, undefined, { headers });
    },
  },
  "comes for another person, with a client of theirs": {
    async attack(scene) {
      const headers = await scene.another("666");
      await scene.call(undefined, undefined, { headers });
    },
  },
  "comes with the word of an identity provider": {
    async attack(scene) {
      const headers = scene.place.vouched;
      const { content } = await scene.call(undefined, undefined, { headers });
      assert.match(content[0].text, /to which this caller cannot sign in/);
    },
  },
  "calls another tool with the same arguments": {
    attack: (scene) => scene.call(undefined, "wipe_all"),
  },
  "calls as a task what was asked as a call": {
    tool: "long",
    async attack(scene) {
      assert.notEqual((await scene.task("long")).link, scene.link);
    },
  },
  "calls, and begins another task, what was asked as a task": {
    tool: "long",
    isTask: true,
    async attack(scene) {
      assert.notEqual(linkOf(await scene.call()), scene.link);
      assert.notEqual((await scene.task("long")).link, scene.link);
    },
  },
  "begins other durable work, and answers for its own": {
    tool: "durable",
    isTask: true,
    async attack(scene) {
      const { taskId, link } = await scene.task("durable");
      assert.notEqual(link, scene.link);
      const { headers, place } = scene;
      const response = await place.server.call(
        "tasks/update",
        { taskId, inputResponses: acceptOf({}).inputResponses },
        { headers, capabilities: { ...FORMS, ...TASKS } },
      );
      await response.body?.cancel();
    },
  },
  "presses by itself": {
    isOwn: true,
    async attack(scene) {
      const { headers, link, place, visitor } = scene;
      const { pathname } = new URL(link);
      const fields = { answer: "approve", csrf: csrfOf(visitor.page) };
      const thief = await AccountVisitor.signIn(place.server, { as: "666" });
      const cookie = [...thief.browser.cookies]
        .map(([name, value]) => `${name.split(" ")[1]}=${value}`).join("; ");
      const csrf = csrfOf(thief.page);
      const statuses = [];
      for (
        const [body, from] of [
          [fields, headers],
          [fields, {}],
          [fields, { cookie }],
          [{ ...fields, csrf }, { cookie }],
          [{ ...fields, csrf }, { ...headers, cookie }],
        ] as [Record<string, string>, HeadersOf][]
      ) {
        const all = { origin: BASE_URL, ...from };
        const response = await postForm(place.server, pathname, body, all);
        await response.body?.cancel();
        // A press that finds nothing leads back to the page.
        statuses.push(response.status);
      }
      await scene.call();
      assert.deepEqual(statuses, [403, 403, 403, 303, 303]);
    },
  },
  "comes to a server of another version": {
    runs: 0,
    isEnd: true,
    attack: (scene) =>
      scene.call(undefined, undefined, { at: scene.place.released }),
  },
  "comes to a server where the tool is another": {
    runs: 0,
    isEnd: true,
    attack: (scene) =>
      scene.call(undefined, undefined, { at: scene.place.changed }),
  },
  "calls again and again what was refused": {
    answer: "refuse",
    runs: 0,
    async attack(scene) {
      for (let time = 0; time < 3; time++) {
        await scene.call(undefined, undefined, { more: acceptOf({}) });
      }
    },
  },
};

/** Plays a case. Returns its counts, and the words of what went wrong. */
async function play(scene: Scene, it: Case) {
  const { length } = ran;
  const hooks = hooked;
  scene.kept.length = length;
  const faults: string[] = [];
  const attempt = async (act: () => unknown) => {
    const before = ran.length;
    try {
      await act();
    } catch (error) {
      faults.push(messageOf(error).slice(0, 200));
    }
    return ran.length - before;
  };
  let unpressed = await attempt(async () => {
    await scene.connect();
    await scene.ask();
  });
  if (!it.isEnd) unpressed += await attempt(() => it.attack(scene));
  await attempt(async () => {
    await scene.press(it.answer ?? "approve");
    if (it.isOwn) await Promise.all(scene.held.splice(0));
    // A task goes on by itself, without another call.
    if (it.isTask) await scene.use();
  });
  const stolen = await attempt(() => it.attack(scene));
  if (!it.isOwn) unpressed += stolen;
  if (!it.isTask) await attempt(() => scene.use());
  await attempt(() => it.attack(scene));
  const runs = ran.length - length;
  await attempt(() => {
    const inputs = ran.slice(length).map(({ input }) => input);
    assert.deepEqual(inputs, inputs.map(() => scene.input));
    assert.equal(hooked - hooks, runs);
  });
  return { faults, calls: scene.calls, unpressed, pressed: runs - unpressed };
}

test.onDatabases("a malicious client: 0 runs without a press, one with it", async ({ kv, other }) => {
  await using idp = await startAssertionProvider();
  const environment = {
    ...ENV,
    OAUTH_ASSERTION_ISSUERS: idp.issuer,
    OAUTH_CLIENTS: JSON.stringify([{
      client_id: "desk",
      grant_types: [JWT_BEARER_GRANT_TYPE],
      client_secret_env: "OAUTH_CLIENT_SECRET_DESK",
    }]),
    OAUTH_CLIENT_SECRET_DESK: SECRET,
  };
  const tools = toolsOf("Wipe");
  const start = (kv: Deno.Kv, provider?: OAuthServer["provider"]) =>
    startOAuthServer({ kv, provider, tools, around, environment });
  await using server = await start(kv);
  const { provider } = server;
  await using second = await start(other, provider);
  const releaseOf = (version: string, title: string) =>
    new OAuthServer(
      createServer({
        ...IMPLEMENTATION,
        version,
        tools: toolsOf(title),
        around,
        env: environment,
        kv: other,
        provider,
        log: SILENT,
      }),
      other,
    );
  await using released = releaseOf("9.9.9", "Wipe");
  await using changed = releaseOf(IMPLEMENTATION.version, "Wipe twice");
  const granted = await server.form("/token", {
    grant_type: JWT_BEARER_GRANT_TYPE,
    assertion: await idp.assertion(BASE_URL),
    client_id: "desk",
    client_secret: SECRET,
  });
  const { access_token } = await granted.json();
  const vouched = { authorization: `Bearer ${access_token}` };
  const place = { server, second, released, changed, vouched };

  const began = ran.length;
  const all = { cases: 0, calls: 0, unpressed: 0, pressed: 0 };
  const wrong: string[] = [];
  const scenes: Scene[] = [];
  for (const [what, it] of Object.entries(CASES)) {
    const { tool = "wipe", isTask = false, runs = 1 } = it;
    const scene = new Scene(place, `${1000 + all.cases++}`, tool, isTask);
    scenes.push(scene);
    const { faults, calls, unpressed, pressed } = await play(scene, it);
    all.calls += calls;
    all.unpressed += unpressed;
    all.pressed += pressed;
    if (unpressed !== 0 || pressed !== runs || faults.length > 0) {
      const counts = `${unpressed} unpressed, ${pressed} pressed`;
      wrong.push([`${what}: ${counts}`, ...faults].join("; "));
    }
  }
  // The calls that are held by then end without a run.
  for (const { app } of [server, second]) app.stop();
  await Promise.all(scenes.flatMap(({ held }) => held));
  console.log(JSON.stringify(all));
  assert.deepEqual(wrong, []);
  assert.equal(ran.length - began, all.unpressed + all.pressed);
  assert.deepEqual(all, { cases: 28, calls: 346, unpressed: 0, pressed: 25 });
});
