/** Misspelt members and wrong types in what authors write. */
import assert from "node:assert/strict";
import { testServer } from "../../../packages/testing/mod.ts";
import {
  account,
  CatalogueError,
  createServer,
  personalKey,
  prompt,
  resource,
  result,
  secret,
  service,
  tool,
  z,
} from "../../../src/mod.ts";
import { skill } from "../../../src/skill.ts";

// deno-lint-ignore no-explicit-any -- Types would refuse what is tested.
type Anything = any;

const run = () => "";
const good = tool({ name: "good", run });

/** The place of a definition in this file, in which lines move. */
const PLACE = / \(authoring.options_test\.ts:\d+\)$/;

/** Starts a server and gives the faults of its definitions. */
function faultsOf(options: Anything): string[] {
  try {
    createServer({
      name: "s",
      version: "1",
      kv: { atomic() {} },
      ...options,
    });
  } catch (error) {
    assert.ok(error instanceof CatalogueError, `${error}`);
    return error.complaints.map((it) => it.replace(PLACE, ""));
  }
  return [];
}

function faultsOfTool(members: Anything): string[] {
  return faultsOf({ tools: [tool({ name: "pay", run, ...members })] });
}

const OF_TOOLS: [members: Anything, ...faults: string[]][] = [
  [{ scope: ["pay"] }, "scope is no option: is scopes meant?"],
  [{ ttl: "Pay" }, "ttl is no option: is title meant?"],
  [{ singleuse: true }, "singleuse is no option: is singleUse meant?"],
  [
    { limit: { callPerMinute: 5 } },
    "limit.callPerMinute is no option: is callsPerMinute meant?",
  ],
  [
    { limit: { callsPerMinute: 0 } },
    "limit.callsPerMinute must be a whole number above 0, not 0",
  ],
  [
    { limit: { callsAtOnce: 1.5 } },
    "limit.callsAtOnce must be a whole number above 0, not 1.5",
  ],
  [
    { limit: 5 },
    "limit must be an object of callsPerMinute, callsAtOnce, shared, not 5",
  ],
  [
    { annotations: { readOnly: true } },
    "annotations.readOnly is no option: is readOnlyHint meant?",
  ],
  [
    { annotations: { destructiveHint: "no" } },
    'annotations.destructiveHint must be true or false, not "no"',
  ],
  [
    { visibility: ["models"] },
    'visibility[0] must be "model" or "app", not "models"',
  ],
  [
    { visibility: "model" },
    'visibility must be a list of "model" and "app", not "model"',
  ],
  [{ scopes: "pay" }, 'scopes must be a list of scopes, not "pay"'],
  [
    { scopes: [1] },
    "scopes[0] must be a scope, which is visible ASCII without quotes and backslashes, not 1",
  ],
  [
    { scopes: ["pay now"] },
    'scopes[0] must be a scope, which is visible ASCII without quotes and backslashes, not "pay now"',
  ],
  [
    { needs: ["x"] },
    "needs must be an object of services from account(), personalKey() or mcpServer(), not a list",
  ],
  [
    { needs: { x: good } },
    "needs.x must be from account(), personalKey() or mcpServer(), not a tool",
  ],
  [
    { task: true },
    'task must be "optional", "required" or { durable: true }, not true',
  ],
  [
    { task: "durable" },
    'task must be "optional", "required" or { durable: true }, not "durable"',
  ],
  [{ task: { durable: false } }, "task.durable must be true, not false"],
  [
    { task: { durable: true, keep: 0 } },
    "task.keep must be 1 to 2592000 seconds, not 0",
  ],
  [
    { task: { durable: true, keep: 2592001 } },
    "task.keep must be 1 to 2592000 seconds, not 2592001",
  ],
  [
    { task: { durable: true, version: 1.5 } },
    "task.version must be a whole number above 0, not 1.5",
  ],
  [{ task: {} }, "task.durable is missing: it must be true"],
  [{ description: 5 }, "description must be text, not 5"],
  [{ description: null }, "description must be text, not null"],
  [{ run: undefined }, "run is missing: it must be a function"],
  [{ run: 5 }, "run must be a function, not 5"],
  [
    { run: undefined, rum: run },
    "rum is no option: is run meant?",
    "run is missing: it must be a function",
  ],
  [
    { run: undefined, execute: run },
    "execute is no option: is run meant?",
    "run is missing: it must be a function",
  ],
  [
    { handOver: Infinity },
    "handOver must be a number of seconds, or 0 for never, not Infinity",
  ],
  [
    { handOver: NaN },
    "handOver must be a number of seconds, or 0 for never, not NaN",
  ],
  [
    { handOver: -1 },
    "handOver must be a number of seconds, or 0 for never, not -1",
  ],
  [
    { input: z.string() },
    "input must be a Zod 4 schema, such as z.object({ name: z.string() }), not a schema",
  ],
  [
    { input: { type: "object" } },
    'input.type must be a Zod 4 schema, such as z.string(), not "object"',
  ],
  [
    { input: { _def: {} } },
    "input must be a Zod 4 schema, such as z.object({ name: z.string() }), not a schema of Zod 3",
  ],
  [
    { output: "text" },
    'output must be a Zod 4 schema, such as z.object({ name: z.string() }), not "text"',
  ],
  [
    { settings: { A: "x" } },
    'settings.A must be a Zod 4 schema, such as z.string(), not "x"',
  ],
  [
    { settings: { A: secret("x" as Anything) } },
    'settings.A must be a Zod 4 schema, such as z.string(), not "x"',
  ],
  [
    { services: { a: { start: run } } },
    "services.a must be from service(), not an object",
  ],
  [
    { icons: [{ url: "x" }] },
    "icons[0].url is no option: is src meant?",
    "icons[0].src is missing: it must be text",
  ],
  [
    { _meta: { big: 1n } },
    "_meta must be an object of JSON values, not an object",
  ],
  [
    { view: { html: "", conect: [] } },
    "view.conect is no option: is connect meant?",
  ],
  [
    { samples: { one: { inputs: {} } } },
    "samples.one.inputs is no option: is input meant?",
    "samples.one.input is missing: it must be an object of JSON values",
  ],
];

for (const [members, ...faults] of OF_TOOLS) {
  Deno.test(`a tool's fault is named at the start: ${faults[0]}`, () => {
    const of = faults.map((fault) => `tool pay: ${fault}`);
    assert.deepEqual(faultsOfTool(members), of);
  });
}

const OF_SERVERS: [options: Anything, ...faults: string[]][] = [
  [{ toolz: [] }, "toolz is no option: is tools meant?"],
  [{ tools: good }, "tools must be a list of tools from tool(), not a tool"],
  [
    { tools: [{ name: "a", run }] },
    "tools[0] must be from tool(), not an object",
  ],
  [{ tools: [undefined] }, "tools[0] must be from tool(), not undefined"],
  [
    { tools: [tool({ run } as Anything)] },
    "tools[0]: name is missing: it must be text",
  ],
  [
    { tools: [tool({ nam: "pay", title: "Pay", run } as Anything)] },
    "tools[0]: nam is no option: is name meant?",
    "tools[0]: name is missing: it must be text",
  ],
  [
    { tools: [good, tool({ nam: "pay", run } as Anything)] },
    "tools[1]: nam is no option: is name meant?",
    "tools[1]: name is missing: it must be text",
  ],
  [
    { tools: [tool({ nam: "pay", run } as Anything), good] },
    "tools[0]: nam is no option: is name meant?",
    "tools[0]: name is missing: it must be text",
  ],
  [
    { settings: { A: "x" } },
    'settings.A must be a Zod 4 schema, such as z.string(), not "x"',
  ],
  [{ version: 1 }, "version must be text, not 1"],
  [
    { kv: "data" },
    'kv must be a database, not "data"',
  ],
  [
    { log: { level: "warn" } },
    'log.level must be "debug" or "info" or "warning" or "error" or "off", not "warn"',
  ],
  [
    { sealing: { keyId: "a", seal: run } },
    "sealing.unseal is missing: it must be a function",
  ],
  [
    { scopes: { pay: { words: "Pay" } } },
    "scopes.pay.words is no option: is description meant?",
    "scopes.pay.description is missing: it must be text",
  ],
  [
    { env: { PORT: 8000 } },
    "env must be an object of texts, not an object",
  ],
  [{ routes: {} }, "routes must be a function, not an object"],
  [
    { handOver: -1 },
    "handOver must be a number of seconds, or 0 for never, not -1",
  ],
  [
    {
      resources: [
        resource(
          { uri: "a:b", name: "b", mimetype: "", read: run } as Anything,
        ),
      ],
    },
    "resource a:b: mimetype is no option: is mimeType meant?",
  ],
  [
    {
      resources: [
        resource({
          uri: "a:b",
          name: "b",
          size: NaN,
          annotations: { priority: 5 },
          read: run,
        }),
      ],
    },
    "resource a:b: annotations.priority must be a number from 0 to 1, not 5",
    "resource a:b: size must be a whole number from 0 on, not NaN",
  ],
  [
    { prompts: [prompt({ name: "p", input: {}, get: run } as Anything)] },
    "prompt p: input is no option: there is name, title, description, icons, scopes, settings, services, _meta, args, needs, complete, get",
  ],
  [
    { skills: [skill({ file: {} } as Anything)] },
    "skills[0]: file is no option: is files meant?",
    "skills[0]: files is missing: it must be an object of files by their paths",
  ],
  [
    { services: { a: service({ name: "a", run } as Anything) } },
    "service a: run is no option: is start meant?",
    "service a: start is missing: it must be a function",
  ],
];

for (const [options, ...faults] of OF_SERVERS) {
  Deno.test(`a server's fault is named at the start: ${faults[0]}`, () => {
    const own = faults.map((fault) =>
      /^(?:resource|prompt|service) /.test(fault)
        ? fault
        : `createServer: ${fault}`
    );
    assert.deepEqual(faultsOf(options), own);
  });
}

Deno.test("all faults are named at once, those of a shared service once", () => {
  const shared = service({ name: "shared", start: run, end: run } as Anything);
  const tools = ["a", "b"].map((name) =>
    tool({ name, scope: [], services: { shared }, run } as Anything)
  );
  assert.deepEqual(faultsOf({ tools, toolz: 1, name: 5 }), [
    "createServer: toolz is no option: is tools meant?",
    "createServer: name must be text, not 5",
    "tool a: scope is no option: is scopes meant?",
    "service shared: end is no option: there is name, settings, services, start, stop",
    "tool b: scope is no option: is scopes meant?",
  ]);
});

Deno.test("names of the prototype are unknown members, and no crash", () => {
  const members = JSON.parse(
    '{ "name": "a", "constructor": 1, "__proto__": {}, "toString": "" }',
  );
  assert.deepEqual(
    faultsOf({ tools: [tool({ run, ...members })], hasOwnProperty: 1 })
      .map((fault) => fault.replace(/ there is .*/, "")),
    [
      "createServer: hasOwnProperty is no option:",
      ...["constructor", "__proto__", "toString"].map((it) =>
        `tool a: ${it} is no option:`
      ),
    ],
  );
});

Deno.test("what is legitimately open stays open", async () => {
  class Greeting {
    readonly name = "greet";
    readonly #word = "Hello";
    /** A member of the author's own. */
    count = 0;
    get description() {
      return `Says ${this.#word}.`;
    }
    run() {
      this.count++;
      return `${this.#word} ${this.count}`;
    }
  }
  const frozen = tool(Object.freeze({ name: "frozen", run }));
  const absent = tool(
    { name: "absent", scope: undefined, title: undefined, run } as Anything,
  );
  const meta = { "com.example/x": { any: [1, null] } };
  const greet = tool(new Greeting());
  const tools = [
    greet,
    frozen,
    absent,
    tool({ ...{ name: "good", run }, name: "spread", _meta: meta }),
  ];
  await using server = await testServer({ tools });
  assert.equal((await server.call(greet)).text, "Hello 1");
  const { tools: listed } = await server.list();
  assert.equal(listed[0].description, "Says Hello.");
  assert.deepEqual(listed[3]._meta, meta);
});

Deno.test("account() and personalKey() name their faults at the start, with all others", () => {
  const api = "https://api.example.com";
  const of = { scopes: "repo", scop: 1 } as Anything;
  const needs = {
    github: account("github", of),
    a: account("a", { api, token: api, authorise: api } as Anything),
    b: account("b", { from: "upstream", api, several: true } as Anything),
    c: personalKey("c", { api, shape: "x" as Anything }),
    d: personalKey("d", { url: api } as Anything),
    e: personalKey("e", undefined as Anything),
    f: account("F", { api: "http://a.example", issuer: "x" }),
    g: personalKey("g", { api, header: "a b" }),
  };
  assert.deepEqual(
    faultsOfTool({ needs, descrption: "" })
      .map((fault) =>
        fault.replace(/(no option: there|have a name|from) .*/, "$1")
      ),
    [
      "tool pay: descrption is no option: is description meant?",
      'account("github"): scop is no option: is scopes meant?',
      'account("github"): scopes must be a list of scopes, not "repo"',
      'account("a"): authorise is no option: is authorize meant?',
      'account("b"): several is no option: there',
      'personalKey("c"): shape must be a regular expression, not "x"',
      'personalKey("d"): url is no option: is api meant?',
      'personalKey("d"): api is missing: it must be text',
      'personalKey("e"): it must be an object, not undefined',
      'account("F") must have a name',
      'personalKey("g") must have the name of a header, and a word before it',
    ],
  );
  assert.throws(() => result({}, { contents: "x" } as Anything), {
    name: "TypeError",
    message: "result: contents is no option: is content meant?",
  });
});

Deno.test("faults of options, settings, names and addresses are one list, in the order of the definitions", () => {
  const read = run;
  const options: Anything = {
    name: "s",
    version: "1",
    kv: { atomic() {} },
    operater: "x",
    websiteUrl: "ftp://a.example",
    tools: [
      tool({ name: "a", run, settings: { lower: z.string() } }),
      tool({ name: "sp ace", run, title: 5 } as Anything),
      tool({ name: "a", run, descrption: "" } as Anything),
      tool({ name: "b", rum: run, scope: ["pay"] } as Anything),
    ],
    resources: [resource({ name: "r", uri: "x://{a", read })],
    prompts: [prompt({ name: "p", get: run, arg: {} } as Anything)],
    env: {
      PORT: "x",
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "dev",
      OAUTH_PERMISSIONS: "jo@example.com=pay",
    },
  };
  assert.throws(() => createServer(options), (error: Error) => {
    assert.ok(error instanceof CatalogueError);
    assert.deepEqual(
      error.message.split("\n").map((line) =>
        line.replace(/: there is .*/, "").replace(PLACE, "")
      ),
      [
        "These definitions need fixing:",
        "  createServer: operater is no option: is operator meant?",
        '  createServer: websiteUrl must be an https address, not "ftp://a.example"',
        "  tool a: descrption is no option: is description meant?",
        "  tool a: duplicate name",
        "  tool sp ace: title must be text, not 5",
        "  tool sp ace: a name must have 1 to 128 characters of A-Z, a-z, 0-9, _, - and .",
        "  tool b: rum is no option: is run meant?",
        "  tool b: scope is no option: is scopes meant?",
        "  tool b: run is missing: it must be a function",
        '  resource x://{a: unbalanced brace in "x://{a"',
        "  prompt p: arg is no option: is args meant?",
        "These settings need fixing:",
        '  PORT: got "x", wants a port from 0 to 65535. Fix: Use PORT=3000, or leave it unset.',
        "  lower: got nothing, wants a value that its schema accepts. Fix: Set it in .env or in the environment.",
      ],
    );
    return true;
  });
});

Deno.test("the calls of a context name their faults", async () => {
  const calls: Record<string, [(context: Anything) => unknown, RegExp]> = {
    ask: [
      (it) => it.ask({ mesage: "?", schema: z.object({}) }),
      /^ask: mesage is no option: is message meant\?\n.*message is missing: it must be text$/,
    ],
    two_forms: [
      (it) =>
        it.ask({ message: "?", schema: z.object({}), url: "https://a.test" }),
      /^ask: a question has one of schema, requestedSchema and url, not schema and url$/,
    ],
    no_form: [
      (it) => it.ask({ message: "?", url: undefined }),
      /^ask: a question has one of .* not none$/,
    ],
    key: [
      (it) => it.ask({ message: "?", key: "tool-server-approval#2" }),
      /^ask: key must be a text that does not begin with tool-server-approval, not "tool-server-approval#2"$/,
    ],
    until: [
      (it) =>
        it.ask({ message: "?", url: "https://a.test", until: "finished" }),
      /^ask: until must be "opened" or "done", not "finished"$/,
    ],
    sample: [
      (it) => it.sample({ messages: [], maxToken: 5 }),
      /^sample: maxToken is no option: is maxTokens meant\?\n.*maxTokens is missing: it must be a whole number above 0$/,
    ],
    step: [
      (it) => it.step("a", run, { retry: 3 }),
      /^step: options\.retry is no option: is retries meant\?$/,
    ],
    wait: [
      (it) => it.wait("a", { message: "", open: run, timeout: 5 }),
      /^wait: timeout is no option: is seconds meant\?\n.*seconds is missing: it must be a number of seconds$/,
    ],
    log: [
      (it) => it.log("warn", "hot"),
      /^log: level must be .*"warning".*, not "warn"$/,
    ],
  };
  const tools = Object.entries(calls).map(([name, [call]]) =>
    tool({
      name,
      task: { durable: true },
      run: async (_input, context) => {
        await call(context);
        return "taken";
      },
    })
  );
  await using server = await testServer({ tools });
  for (const [name, [, message]] of Object.entries(calls)) {
    await assert.rejects(server.call(name), (error: Error) => {
      assert.match(`${(error.cause as Error)?.message}`, message);
      return true;
    });
  }
});

Deno.test("the test kit names faults in its options", async () => {
  await assert.rejects(
    testServer({ revison: "2025-11-25" } as Anything),
    /revison is no option: is revision meant\?/,
  );
  await using server = await testServer({ tools: [good] });
  await assert.rejects(
    server.call(good, {}, { answer: [] } as Anything),
    /good: answer is no option: is answers meant\?/,
  );
  await assert.rejects(
    server.as({ scope: ["a"] } as Anything).call(good),
    /as: scope is no option: is scopes meant\?/,
  );
});
