import assert from "node:assert/strict";
import { examine } from "../examine.ts";
import { STORES } from "../check.ts";
import { type Finding, printFinding, printReport } from "../finding.ts";

/** A server that is not of this project, as `fetch`. */
type Stranger = (request: Request) => Response | Promise<Response>;

const TOOL = {
  name: "search",
  title: "Search",
  description: "Finds messages.",
  inputSchema: { type: "object", properties: {} },
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    openWorldHint: true,
  },
};

const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers":
    "authorization,content-type,mcp-protocol-version,mcp-session-id",
};

/** Answers messages by method; everything else is 404. */
function stranger(
  answers: Record<string, unknown>,
  print: (message: unknown) => Response,
  path = "/mcp",
): Stranger {
  return async (request) => {
    if (new URL(request.url).pathname !== path) {
      return new Response("", { status: 404 });
    }
    if (request.method === "OPTIONS") {
      return new Response(null, { status: 204, headers: CORS });
    }
    if (request.method === "GET") {
      return new Response("", { status: 405, headers: { allow: "POST" } });
    }
    const { id, method } = await request.json();
    if (id === undefined) return new Response(null, { status: 202 });
    if (!(method in answers)) {
      return Response.json(
        { jsonrpc: "2.0", id, error: { code: -32601, message: "unknown" } },
        { status: 400, headers: CORS },
      );
    }
    return print({ jsonrpc: "2.0", id, result: answers[method] });
  };
}

const asJson = (message: unknown) => Response.json(message, { headers: CORS });

/** Prints a stream that never ends: one message, and then the answer. */
const asStream = (message: unknown) =>
  new Response(
    new ReadableStream({
      start(controller) {
        const events = [
          ": ping",
          `event: message\ndata: ${
            JSON.stringify({ jsonrpc: "2.0", method: "notifications/message" })
          }`,
          `event: message\r\ndata: ${JSON.stringify(message)}`,
        ];
        const text = events.map((event) => `${event}\n\n`).join("");
        // The pieces end anywhere.
        for (const piece of text.match(/.{1,7}/gs)!) {
          controller.enqueue(new TextEncoder().encode(piece));
        }
      },
    }),
    { headers: { ...CORS, "content-type": "text/event-stream" } },
  );

async function findings(
  server: Stranger,
  url = "https://other.example",
): Promise<Finding[]> {
  return await Array.fromAsync(examine(url, {
    stores: STORES,
    fetch: ((input: URL, init?: RequestInit) =>
      Promise.resolve(server(new Request(input, init)))) as typeof fetch,
  }));
}

function named(all: readonly Finding[], name: string): Finding {
  const found = all.find((finding) => finding.name.startsWith(name));
  assert.ok(found, `${name} in ${all.map(printFinding).join("\n")}`);
  return found;
}

const SESSIONS = {
  "initialize": {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "other", version: "1" },
  },
  "tools/list": { tools: [TOOL] },
};

/** Checks that nothing is missing that any MCP client needs. */
function assertReached(all: readonly Finding[]): void {
  for (const name of ["POST /mcp", "GET /mcp", "CORS of /mcp", "Tools"]) {
    assert.equal(named(all, name).result, "ok", printFinding(named(all, name)));
  }
  const health = named(all, "Health");
  assert.equal(health.result, "skipped");
  assert.match(health.found, /no standard asks for/);
}

Deno.test("examine() understands a server that answers with streams, without sessions or /health", async () => {
  assertReached(await findings(stranger(SESSIONS, asStream)));
});

Deno.test("examine() understands a server of 2026-07-28 alone", async () => {
  const all = await findings(stranger({
    "server/discover": {
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      serverInfo: { name: "other", version: "1" },
    },
    "tools/list": { tools: [TOOL] },
  }, asJson));
  assertReached(all);
  assert.match(named(all, "POST /mcp").found, /without a session/);
});

Deno.test("examine() finds the endpoint at the address given, below it, or at the root", async () => {
  for (
    const [path, given] of [
      ["/", "https://other.example"],
      ["/api/tools", "https://other.example/api/tools"],
      ["/api/mcp", "https://other.example/api"],
      ["/api/mcp", "https://other.example/api/mcp/"],
    ]
  ) {
    assertReached(await findings(stranger(SESSIONS, asJson, path), given));
  }
});

Deno.test("examine() takes a stream on GET for what it is", async () => {
  const inner = stranger(SESSIONS, asJson);
  const all = await findings((request) =>
    request.method === "GET" && request.url.endsWith("/mcp")
      ? asStream({ jsonrpc: "2.0", id: 1, result: {} })
      : inner(request)
  );
  assert.equal(named(all, "GET /mcp").found, "a stream for 2025 clients");
});

const SCHEMAS: Record<string, unknown>[] = [
  { type: "string" },
  { type: "object" },
  { type: "object", properties: {}, anyOf: [{ required: ["a"] }] },
  {
    type: "object",
    properties: { a: { $ref: "https://example.com/schema.json" } },
  },
];

for (const inputSchema of SCHEMAS) {
  Deno.test(`examine() finds an input that models cannot fill in: ${JSON.stringify(inputSchema)}`, async () => {
    const all = await findings(stranger({
      ...SESSIONS,
      "tools/list": { tools: [{ ...TOOL, inputSchema }] },
    }, asJson));
    assert.equal(named(all, "Input schemas").result, "failed");
  });
}

Deno.test("examine() follows a list over its pages, and warns of them", async () => {
  let pages = 0;
  const all = await findings(stranger({
    ...SESSIONS,
    get "tools/list"() {
      return { tools: [TOOL], nextCursor: ++pages < 3 ? "next" : undefined };
    },
  }, asJson));
  const { result, found } = named(all, "Tools");
  assert.equal(result, "warning");
  assert.match(found, /^3 are listed on several pages/);
});

const VIEW = "ui://mail/view";
const SEEN = { ...TOOL, _meta: { ui: { resourceUri: VIEW } } };
const EXTENSIONS = { extensions: { "io.modelcontextprotocol/ui": {} } };
const CONTENT = {
  uri: VIEW,
  mimeType: "text/html;profile=mcp-app",
  text: "<!doctype html><title>Mail</title>",
};

const VIEWS: [what: string, capabilities: unknown, content: unknown, RegExp][] =
  [
    ["that is right", EXTENSIONS, CONTENT, /^ok +Views .*1 can be read/],
    [
      "that is not declared",
      {},
      CONTENT,
      /^FAILED +Views .*capabilities do not name/,
    ],
    [
      "of another type",
      EXTENSIONS,
      { ...CONTENT, mimeType: "text/html+skybridge" },
      /^FAILED +Views .*is text\/html\+skybridge/,
    ],
    [
      "with a domain",
      EXTENSIONS,
      { ...CONTENT, _meta: { ui: { domain: "https://other.example" } } },
      /^FAILED +Views .*Leave ui\.domain out/,
    ],
    [
      "that loads a script",
      EXTENSIONS,
      { ...CONTENT, text: '<script src="https://cdn.example/a.js"></script>' },
      /^warning +Views .*from elsewhere/,
    ],
  ];

for (const [what, capabilities, content, expected] of VIEWS) {
  Deno.test(`examine() judges a view ${what}`, async () => {
    const all = await findings(stranger({
      "initialize": { ...SESSIONS.initialize, capabilities },
      "tools/list": { tools: [SEEN] },
      "resources/read": { contents: [content] },
    }, asJson));
    assert.match(printFinding(named(all, "Views")), expected);
  });
}

const CONTROLS = "\x1b[2J\x07\r\nWell: everything\u202e\u0085";

Deno.test("printReport() lets no word of a server end a line or control the terminal", async () => {
  const refusing: Stranger = async (request) => {
    const { id } = await request.clone().json().catch(() => ({}));
    const error = { code: -32000, message: CONTROLS };
    return id === undefined
      ? await stranger(SESSIONS, asJson)(request)
      : Response.json({ jsonrpc: "2.0", id, error }, { headers: CORS });
  };
  const tools = [{ name: CONTROLS, inputSchema: {} }];
  for (
    const server of [
      refusing,
      stranger({ ...SESSIONS, "tools/list": { tools } }, asJson),
    ]
  ) {
    const all = await findings(server);
    const report = printReport(all) + all.map(printFinding).join("\n");
    assert.match(report, /\\u001b\[2J\\u0007\\u000d\\u000aWell: everything/);
    assert.doesNotMatch(report, /[^\n\P{Cc}]|\p{Cf}|\nWell: everything/u);
  }
});

Deno.test("examine() goes on where a list holds no objects, or very many", async () => {
  const lists: [items: unknown[], count: number][] = [
    [[TOOL, null, 1, "tool", []], 1],
    [[TOOL, ...Array(400_000).fill(0)], 1],
    [Array(400_000).fill({ name: "search" }), 400_000],
  ];
  for (const [tools, count] of lists) {
    const all = await findings(stranger({
      ...SESSIONS,
      "tools/list": { tools },
    }, asJson));
    assert.equal(
      named(all, "Tools").found,
      count === 1
        ? "1 is listed: your list costs about 21 tokens, search 21 of them"
        : `${count} are listed`,
    );
  }
});

/** Members of answers as no server of the protocol sends them. */
const MISTYPED: Record<string, unknown>[] = [
  { "tools/list": { tools: [{ ...TOOL, annotations: null }] } },
  { "tools/list": { tools: [{ ...TOOL, description: 7 }] } },
  { "tools/list": { tools: [{ ...TOOL, description: null }] } },
  { "initialize": { ...SESSIONS.initialize, instructions: null } },
  {
    "initialize": {
      ...SESSIONS.initialize,
      capabilities: { extensions: { "io.modelcontextprotocol/skills": {} } },
    },
    "skills/list": { skills: [{ uri: "skill://a", resources: [null] }] },
    "resources/read": { contents: [{ uri: "skill://a", text: "words" }] },
  },
];

for (const answers of MISTYPED) {
  Deno.test(`examine() goes on to its end where a server answers ${JSON.stringify(answers).slice(-60)}`, async () => {
    const all = await findings(stranger({ ...SESSIONS, ...answers }, asJson));
    assert.match(all.at(-1)!.name, /^Support/);
  });
}

Deno.test("examine() reads pages and views once, whatever they are made of", async () => {
  const links = '<a href="'.repeat(200_000);
  const content = {
    mimeType: "text/html;profile=mcp-app",
    text: "<img ".repeat(200_000),
  };
  const inner = stranger({
    "initialize": { ...SESSIONS.initialize, capabilities: EXTENSIONS },
    "tools/list": { tools: [SEEN] },
    "resources/read": { contents: [content] },
  }, asJson);
  const all = await findings((request) =>
    new URL(request.url).pathname === "/"
      ? new Response(`${links}</a><a class="x" href="/help">Support</a>`)
      : inner(request)
  );
  assert.equal(named(all, "Support").found, "the start page links to /help");
  assert.equal(named(all, "Views").found, "1 can be read");
});

Deno.test("examine() reads only the beginning of an answer without an end", async () => {
  const inner = stranger(SESSIONS, asJson);
  const part = new Uint8Array(2 ** 20).fill(0x20);
  let parts = 0;
  const all = await findings((request) =>
    request.url.endsWith("/health")
      ? new Response(
        new ReadableStream({
          pull(controller) {
            // The doctor reads at most 64 of these parts.
            if (++parts > 100) controller.error(new TypeError("read on"));
            else controller.enqueue(part);
          },
        }),
      )
      : inner(request)
  );
  assert.doesNotMatch(named(all, "Health").found, /cannot be reached/);
});
