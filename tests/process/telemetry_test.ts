/**
 * The export of a process that was started with `OTEL_DENO=true`: a whole
 * sign-in, and calls of both generations.
 */
import assert from "node:assert/strict";
import { VERSION } from "../../src/core/version.ts";
import { shortHash } from "../../src/core/log/log.ts";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { BASE_URL, Sender, type TestSession } from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import { browserOf } from "../kit/browser.ts";
import { freePort } from "../kit/port.ts";
import { Events, isStream, messagesOf, statusOf } from "../kit/answer.ts";
import { type Json, rpc } from "../kit/message.ts";
import { until } from "../kit/wait.ts";
import { serveProvider } from "../kit/served_provider.ts";
import { type CollectedSpan, Collector } from "./collector.ts";
import { startProcess } from "../kit/process.ts";
import { askable, askedBy, queries } from "./promql.ts";

/** Texts that clients and the provider write wherever they can. */
const PLANTED = {
  argument: "planted-argument",
  result: "planted-result",
  answer: "planted-answer",
  resource: "planted-resource",
  name: "planted-name",
  method: "planted-method",
  baggage: "planted-baggage",
  providerCode: "planted-provider-code",
  providerToken: "planted-provider-token",
  providerRefreshToken: "planted-provider-refresh",
  clientSecret: "planted-client-secret",
  email: "planted@example.com",
};

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** The bounds of the histograms for MCP in seconds, from the conventions. */
// deno-fmt-ignore
const OPERATION_BOUNDS = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
];

/** A trace that a client has begun. */
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;
/** Another trace, which the request's header names. */
const HEADER_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const HEADER_PARENT = "00f067aa0ba902b7";

/** A provider that signs everyone in, and the API behind it. */
function serveObservedProvider() {
  return serveProvider((origin) => ({
    [`GET ${origin}/authorize`]: ({ url: { searchParams } }) => {
      const back = new URL(searchParams.get("redirect_uri")!);
      back.searchParams.set("state", searchParams.get("state")!);
      back.searchParams.set("code", PLANTED.providerCode);
      return new Response(null, {
        status: 302,
        headers: { location: back.href },
      });
    },
    [`POST ${origin}/token`]: () =>
      Response.json({
        access_token: PLANTED.providerToken,
        refresh_token: PLANTED.providerRefreshToken,
        token_type: "Bearer",
        // So short that the next use refreshes it.
        expires_in: 1,
      }),
    [`GET ${origin}/userinfo`]: () =>
      Response.json({ sub: "7", name: "Ada", email: PLANTED.email }),
    [`GET ${origin}/me`]: () => Response.json({ me: PLANTED.result }),
    [`GET ${origin}/look`]: () => new Response(PLANTED.result),
  }));
}

/** A client of a process that sends baggage. */
class ObservedClient extends Sender {
  accessToken = "";

  constructor(readonly url: string) {
    super();
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("baggage", `person=${PLANTED.baggage}`);
    if (path === "/mcp") {
      headers.set("authorization", `Bearer ${this.accessToken}`);
    }
    return fetch(this.url + path, { ...init, headers, redirect: "manual" });
  }

  /** Gives the answer to a request of 2026, which may name its trace. */
  async request(method: string, params: Json, meta: Json = {}): Promise<Json> {
    const options = { id: 7, capabilities: TASKS, meta };
    return (await messagesOf(await this.call(method, params, options))).at(-1);
  }
}

/** Posts a message without an answer. */
async function tell(session: TestSession, message: Json): Promise<void> {
  await (await session.post(message)).body?.cancel();
}

/** Asks the person in a session; gives the stream and the question. */
async function ask(session: TestSession, id: string) {
  const response = await session.request("tools/call", { name: "ask" }, id);
  assert(isStream(response));
  const events = new Events(response);
  return { events, question: await events.read() };
}

/** Runs one process through everything, and collects its export. */
async function observe() {
  await using collector = new Collector();
  await using provider = serveObservedProvider();
  const port = freePort();
  await using process = await startProcess({
    entry: "tests/process/observed.ts",
    env: {
      ...collector.environment,
      PORT: String(port),
      BASE_URL,
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "custom",
      OAUTH_AUTHORIZATION_URL: `${provider.origin}/authorize`,
      OAUTH_TOKEN_URL: `${provider.origin}/token`,
      OAUTH_USERINFO_URL: `${provider.origin}/userinfo`,
      OAUTH_CLIENT_ID: "our-app",
      OAUTH_CLIENT_SECRET: PLANTED.clientSecret,
    },
  });
  await process.prints(/Listening/);
  const observed = new ObservedClient(`http://127.0.0.1:${port}`);

  const client = await Client.register(observed);
  const browser = browserOf(observed, { issuer: provider.origin });
  const code = await client.signIn({ browser });
  const { body: first } = await client.redeem(code);
  const { body: tokens } = await client.refresh(first.refresh_token);
  const refused = await client.refresh(PLANTED.argument);
  assert.equal(refused.body.error, "invalid_grant");
  await (await observed.post(rpc("ping"))).body?.cancel();
  observed.accessToken = tokens.access_token;

  const look = {
    name: "look",
    arguments: { url: `${provider.origin}/look?${PLANTED.argument}` },
  };
  await observed.request("tools/call", look, {
    traceparent: TRACEPARENT,
    baggage: `person=${PLANTED.baggage}`,
  });
  const traceparent = `00-${HEADER_TRACE}-${HEADER_PARENT}-01`;
  const listed = await observed.call("tools/list", {}, {
    headers: { traceparent },
  });
  await listed.body?.cancel();
  await observed.request("tools/call", { name: "profile" });
  const fail = { name: "fail", arguments: { text: PLANTED.argument } };
  await observed.request("tools/call", fail);
  await observed.request("tools/call", { name: "crash" });
  await observed.request("tools/call", { ...fail, name: "wire" });
  await observed.request("tools/call", { name: "rare" });
  await observed.request("tools/call", { name: "rare" });
  await observed.request("tools/call", { name: PLANTED.name });
  await observed.request(PLANTED.method, {});
  const uri = `note://${PLANTED.resource}`;
  await observed.request("resources/read", { uri });

  const ponder = { name: "ponder", arguments: { text: PLANTED.argument } };
  const { result: { taskId } } = await observed.request("tools/call", ponder);
  await until(async () => {
    const { result } = await observed.request("tasks/get", { taskId });
    return result.status !== "working";
  });

  const capabilities = { elicitation: {} };
  const session = await observed.openSession({ capabilities });
  const { events, question } = await ask(session, "asking");
  await tell(session, {
    jsonrpc: "2.0",
    id: question.id,
    result: { action: "accept", content: { many: PLANTED.answer } },
  });
  assert.match(JSON.stringify(await events.read()), /accept/);
  for (const method of ["MADE-UP", "DREAMT"]) {
    assert.equal(await statusOf(observed.fetch("/nowhere", { method })), 404);
  }
  assert.equal((await events.next()).done, true);
  const { events: abandoned } = await ask(session, "abandoned");
  await tell(session, {
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: "abandoned", reason: PLANTED.argument },
  });
  assert.equal((await abandoned.next()).done, true);

  const old = await observed.openSession({ revision: "2025-03-26" });
  const batch = [
    rpc("tools/call", fail, 1),
    rpc(PLANTED.method, {}, 2),
    { jsonrpc: "2.0", method: "notifications/initialized" },
  ];
  assert.equal((await (await old.post(batch)).json()).length, 2);

  // One session is ended by its client, the other with its grant.
  assert.equal(await statusOf(old.end()), 202);
  assert.equal(
    await statusOf(observed.fetch("/revoke", {
      method: "POST",
      body: new URLSearchParams({
        client_id: client.clientId,
        token: tokens.refresh_token,
      }),
    })),
    200,
  );

  // Written a second after the first.
  await until(() =>
    collector.points.some(({ attributes }) =>
      attributes["db.collection.name"] === "attempts"
    )
  );
  process.kill("SIGINT");
  assert.equal(await process.end(), 0);
  const secrets = [
    ...Object.values(PLANTED),
    ...[client.state, client.verifier, code],
    ...[first, tokens].flatMap((tokens) => [
      tokens.access_token,
      tokens.refresh_token,
    ]),
    ...provider.asked.flatMap(({ url, form }) => [
      url.searchParams.get("state"),
      form.code_verifier,
    ]),
    ...browser.cookies.values(),
    session.id,
    old.id,
  ].filter((secret) => secret !== null && secret !== undefined);
  return { collector, secrets, session, output: process.output, provider };
}

Deno.test("a collector of telemetry", async (t) => {
  const { collector, secrets, session, output, provider } = await observe();
  const { spans, records, points } = collector;

  /** Finds the only span with a name, or the one for which something holds. */
  function span(
    name: string,
    isWanted: (span: CollectedSpan) => boolean = () => true,
  ): CollectedSpan {
    const found = collector.named(name).filter(isWanted);
    assert.equal(found.length, 1, `${found.length} spans ${name}`);
    return found[0];
  }
  const isOf = (revision: string) => ({ attributes }: CollectedSpan) =>
    attributes["mcp.protocol.version"] === revision;
  const countOf = (metric: string, attributes: Record<string, unknown>) =>
    points.filter((point) =>
      point.metric === metric &&
      Object.entries(attributes).every(([name, value]) =>
        point.attributes[name] === value
      )
    ).reduce((sum, { count }) => sum + count, 0);

  await t.step("is told no token, code, state, argument or result", () => {
    assert(secrets.length > 20);
    assert(collector.exported.length > 10_000);
    for (const secret of secrets) {
      assert(!collector.exported.includes(secret), secret);
      assert(!output.includes(secret), secret);
    }
  });

  await t.step("finds each HTTP request under its route", () => {
    const routes = {
      "POST /register": 1,
      "GET /authorize": 1,
      "POST /authorize": 1,
      "GET /oauth/provider-callback": 1,
      "POST /token": 3,
    };
    for (const [name, times] of Object.entries(routes)) {
      const found = collector.named(name);
      assert.equal(found.length, times, name);
      for (const { kind, scope, attributes } of found) {
        assert.equal(kind, 2);
        assert.match(scope, /^deno /);
        assert.equal(attributes["http.route"], name.split(" ")[1]);
        assert.doesNotMatch(String(attributes["url.full"]), /[?#]/);
        assert.equal(attributes["url.query"], undefined);
      }
    }
    assert(collector.named("POST /mcp").length > 10);
    assert.equal(
      countOf("http.server.request.duration", { "http.route": "/token" }),
      3,
    );
  });

  await t.step("calls made-up methods of HTTP by one name", () => {
    const made = spans.filter(({ attributes }) =>
      attributes["http.request.method"] === "_OTHER"
    );
    assert.deepEqual(made.map(({ name }) => name), ["HTTP", "HTTP"]);
    assert.doesNotMatch(JSON.stringify(spans), /MADE-UP|DREAMT/);
  });

  await t.step("counts HTTP requests, made-up methods as one", () => {
    const count = (attributes: Record<string, unknown>) =>
      countOf("tool_server.request.duration", attributes);
    assert.equal(count({ "http.route": "/token" }), 3);
    assert.equal(
      count({
        "http.request.method": "_OTHER",
        "http.response.status_code": 404,
      }),
      2,
    );
    assert.equal(
      count({ "http.route": "/mcp" }),
      countOf("http.server.request.duration", { "http.route": "/mcp" }),
    );
  });

  await t.step(
    "finds a call in the trace its client named, with a link",
    () => {
      const { attributes, ...look } = span("tools/call look");
      assert.deepEqual(
        [look.scope, look.kind, look.traceId, look.parentSpanId],
        [`tool-server ${VERSION}`, 2, TRACE, PARENT],
      );
      const [link] = look.links;
      const brought = spans.find(({ spanId }) => spanId === link.spanId)!;
      assert.equal(brought.name, "POST /mcp");
      const { "tool_server.reference": reference, ...rest } = attributes;
      assert.match(String(reference), /^[\w-]{13,}$/);
      assert.deepEqual(rest, {
        "mcp.method.name": "tools/call",
        "network.protocol.name": "http",
        "network.transport": "tcp",
        "gen_ai.tool.name": "look",
        "gen_ai.operation.name": "execute_tool",
        "mcp.protocol.version": STATELESS_REVISION,
        "jsonrpc.request.id": "7",
        "tool_server.outcome": "ok",
        "tool_server.database.operations": 0,
      });
    },
  );

  await t.step("finds a call in the trace that its header named", () => {
    const { traceId, parentSpanId } = span("tools/list");
    const brought = spans.find(({ spanId }) => spanId === parentSpanId)!;
    assert.deepEqual(
      [traceId, brought.traceId, brought.parentSpanId],
      [HEADER_TRACE, HEADER_TRACE, HEADER_PARENT],
    );
  });

  await t.step("finds a call without a trace beneath its HTTP request", () => {
    const { parentSpanId, traceId, links } = span("tools/call profile");
    const parent = spans.find(({ spanId }) => spanId === parentSpanId)!;
    assert.deepEqual([parent.name, parent.traceId], ["POST /mcp", traceId]);
    assert.deepEqual(links, []);
  });

  await t.step("finds what a tool fetches beneath its call", () => {
    const [fetched, ...others] = collector.beneath(span("tools/call look"));
    assert.deepEqual(others, []);
    assert.deepEqual([fetched.kind, fetched.name], [3, "GET"]);
    assert.equal(fetched.attributes["url.full"], `${provider.origin}/look`);
    const names = collector.beneath(span("tools/call profile"))
      .map(({ name }) => name);
    assert(names.includes("provider refresh"));
    assert(names.includes("commit upstream"));
  });

  await t.step("passes a client's trace on, and never its baggage", () => {
    const asked = provider.asked.find(({ url }) => url.pathname === "/look")!;
    assert.equal(asked.headers.get("traceparent")!.split("-")[1], TRACE);
    assert(provider.asked.length > 6);
    for (const { url, headers } of provider.asked) {
      // The browser's own requests come from the test.
      if (url.pathname !== "/authorize") {
        assert.equal(headers.get("baggage"), null, url.pathname);
      }
    }
  });

  await t.step("is told how a call failed, in a word", () => {
    const failed = span("tools/call fail", isOf(STATELESS_REVISION));
    assert.equal(failed.statusCode, 2);
    assert.equal(failed.attributes["error.type"], "tool_error");
    assert.equal(failed.attributes["tool_server.outcome"], "tool_error");
    const crashed = span("tools/call crash").attributes;
    assert.equal(crashed["error.type"], "tool_error");
    assert.equal(crashed["tool_server.outcome"], "internal_error");
    const refused = span("tools/call rare", ({ statusCode }) => statusCode > 0);
    assert.equal(refused.attributes["error.type"], "tool_error");
    assert.equal(refused.attributes["tool_server.outcome"], "refused");
    const unknown = span("tools/call").attributes;
    assert.equal(unknown["error.type"], "-32602");
    assert.equal(unknown["rpc.response.status_code"], "-32602");
    assert.equal(unknown["tool_server.outcome"], "refused");
    for (const { attributes } of collector.named("_OTHER")) {
      assert.equal(attributes["error.type"], "-32601");
    }
    assert.equal(collector.named("_OTHER").length, 2);
    const ended = span("tools/call look");
    assert.equal(ended.statusCode, 0);
  });

  await t.step("is told of a resource as it was declared", () => {
    const { attributes } = span("resources/read");
    assert.equal(attributes["mcp.resource.uri"], "note://{id}");
  });

  await t.step("finds questions beneath the calls of a session", () => {
    const asking = collector.named("tools/call ask");
    assert.deepEqual(
      asking.map(({ attributes }) => [
        attributes["jsonrpc.request.id"],
        attributes["tool_server.outcome"],
        attributes["mcp.session.id"],
        attributes["mcp.protocol.version"],
      ]),
      ["asking ok", "abandoned cancelled"].map((words) => [
        ...words.split(" "),
        shortHash(session.id),
        "2025-11-25",
      ]),
    );
    for (const call of asking) {
      const question = collector.beneath(call)
        .find(({ name }) => name === "elicitation/create")!;
      assert.equal(question.kind, 3);
    }
    for (const revision of ["2025-11-25", "2025-03-26"]) {
      span("initialize", isOf(revision));
    }
    assert.equal(collector.named("notifications/cancelled").length, 1);
    const question = { "mcp.method.name": "elicitation/create" };
    assert.equal(countOf("mcp.client.operation.duration", question), 2);
  });

  await t.step("finds the messages of a batch as calls of their own", () => {
    const request = span("tools/call fail", isOf("2025-03-26")).parentSpanId;
    const names = spans.filter(({ parentSpanId }) => parentSpanId === request)
      .map(({ name }) => name);
    const messages = ["_OTHER", "notifications/initialized", "tools/call fail"];
    for (const message of messages) assert(names.includes(message), message);
  });

  await t.step(
    "finds the work of a task beneath the call that began it",
    () => {
      const call = span("tools/call ponder");
      assert.equal(call.attributes["tool_server.outcome"], "ok");
      const [task] = collector.beneath(call)
        .filter(({ name }) => name === "task ponder");
      assert.equal(task.attributes["error.type"], "tool_error");
      assert.equal(task.statusCode, 2);
      const operations = collector.beneath(task);
      assert(operations.length > 0);
      assert.equal(
        task.attributes["tool_server.database.operations"],
        operations.length,
      );
      const failed = {
        "gen_ai.tool.name": "ponder",
        "error.type": "tool_error",
      };
      assert.equal(countOf("tool_server.task.duration", failed), 1);
    },
  );

  await t.step("tells a step of an approval as an event of the call", () => {
    const attributes = {
      "tool_server.approval.step": "asked",
      "gen_ai.tool.name": "wire",
    };
    assert.deepEqual(span("tools/call wire").events, [
      { name: "approval", attributes },
    ]);
    assert.equal(countOf("tool_server.approval.step.duration", attributes), 1);
  });

  await t.step("measures calls as the conventions have it", () => {
    const metric = "mcp.server.operation.duration";
    const point = points.find((point) => point.metric === metric)!;
    assert.equal(point.unit, "s");
    assert.deepEqual(point.bounds, OPERATION_BOUNDS);
    const counts = {
      look: { "tool_server.outcome": "ok" },
      fail: { "error.type": "tool_error" },
      crash: { "tool_server.outcome": "internal_error" },
    };
    assert.deepEqual(
      Object.entries(counts).map(([tool, attributes]) =>
        countOf(metric, { "gen_ai.tool.name": tool, ...attributes })
      ),
      [1, 2, 1],
    );
    const names = new Set(
      points.filter((point) => point.metric === metric)
        .flatMap(({ attributes }) => Object.keys(attributes)),
    );
    for (const one of ["jsonrpc.request.id", "mcp.session.id"]) {
      assert(!names.has(one), one);
    }
  });

  await t.step("measures sessions that ended, each once", () => {
    const ended = points.filter(({ metric }) =>
      metric === "mcp.server.session.duration"
    );
    const told = ended.map(({ count, unit, bounds, attributes }) => {
      const { "mcp.protocol.version": revision, ...rest } = attributes;
      const { "tool_server.outcome": outcome, ...transport } = rest;
      assert.deepEqual(transport, {
        "network.protocol.name": "http",
        "network.transport": "tcp",
      });
      assert.deepEqual([unit, bounds], ["s", OPERATION_BOUNDS]);
      return `${revision} ${outcome} ${count}`;
    });
    assert.deepEqual(told.sort(), ["2025-03-26 ok 1", "2025-11-25 stopped 1"]);
  });

  await t.step("measures sign-ins, refreshes and what was refused", () => {
    const steps = [
      ["GET /oauth/provider-callback", undefined, "ok", undefined],
      ["POST /token", "authorization_code", "ok", undefined],
      ["POST /token", "refresh_token", "ok", undefined],
      ["POST /token", "refresh_token", "refused", "invalid_grant"],
    ];
    for (const [step, grantType, outcome, error] of steps) {
      const count = countOf("tool_server.sign_in.step.duration", {
        "tool_server.sign_in.step": step,
        "oauth.grant_type": grantType,
        "tool_server.outcome": outcome,
        "error.type": error,
      });
      assert.equal(count, 1, `${step} ${grantType} ${outcome}`);
    }
  });

  await t.step("measures the provider's answers", () => {
    const [called] = collector.beneath(span("GET /oauth/provider-callback"))
      .filter(({ name }) => name === "provider redeem");
    const below = collector.beneath(called).map(({ name }) => name);
    assert.deepEqual(below.toSorted(), ["GET", "POST"]);
    const metric = "tool_server.provider.call.duration";
    assert.equal(countOf(metric, { "tool_server.provider.call": "redeem" }), 1);
    const refreshes = collector.named("provider refresh").length;
    assert(refreshes > 1);
    assert.equal(
      countOf(metric, { "tool_server.provider.call": "refresh" }),
      refreshes,
    );
  });

  await t.step("counts the operations on the database", () => {
    const counts: number[] = [];
    for (const request of collector.named("POST /token")) {
      const operations = collector.beneath(request)
        .filter(({ attributes }) => attributes["db.system.name"] === "deno.kv");
      assert.equal(
        request.attributes["tool_server.database.operations"],
        operations.length,
      );
      counts.push(operations.length);
    }
    assert(Math.max(...counts) > 2, `${counts}`);
    const metric = "db.client.operation.duration";
    const operations = spans.filter(({ attributes }) =>
      "db.operation.name" in attributes
    );
    assert(countOf(metric, {}) >= operations.length);
    for (const verb of ["get", "getMany", "commit"]) {
      assert(countOf(metric, { "db.operation.name": verb }) > 0, verb);
    }
  });

  await t.step(
    "finds background work in no trace, and counted all the same",
    () => {
      for (const name of ["commit attempts", "getMany reply"]) {
        const [verb, kind] = name.split(" ");
        const count = countOf("db.client.operation.duration", {
          "db.operation.name": verb,
          "db.collection.name": kind,
        });
        assert(count > 0, name);
        assert.deepEqual(collector.named(name), []);
      }
    },
  );

  await t.step("has what the docs and the dashboard ask for", async () => {
    const { metrics, labels, values } = askable(points);
    for (const query of await queries()) {
      const asked = askedBy(query);
      assert(asked.metrics.length > 0, query);
      for (const metric of asked.metrics) assert(metrics.has(metric), metric);
      for (const label of asked.labels) assert(labels.has(label), label);
      for (const value of asked.values) {
        // A provider is unavailable only during an outage.
        const isRare = value === 'error_type="unavailable"';
        assert(isRare || values.has(value), value);
      }
    }
  });

  await t.step("finds the log line of each call with the call's span", () => {
    const lines = records.filter(({ body }) => body.startsWith("{"))
      .map((record) => ({ ...record, line: JSON.parse(record.body) }));
    const calls = spans.filter(({ attributes }) =>
      "tool_server.reference" in attributes
    );
    assert(calls.length > 8);
    for (const { traceId, spanId, attributes } of calls) {
      const reference = attributes["tool_server.reference"];
      const own = lines.filter(({ line }) => line.reference === reference);
      assert(own.length > 0);
      for (const { line, severity, ...record } of own) {
        assert.deepEqual(
          [record.traceId, record.spanId, line.traceId, line.spanId],
          [traceId, spanId, traceId, spanId],
        );
        assert.equal(severity, { INFO: 9, ERROR: 17 }[line.level as "INFO"]);
      }
      assert.equal(own.at(-1)!.line.outcome, attributes["tool_server.outcome"]);
    }
    assert.equal(lines.filter(({ severity }) => severity === 17).length, 1);
  });
});

/** Collects the export of a failing call, under other settings. */
async function observeFailure(settings: Record<string, string>) {
  const collector = new Collector();
  const { OTEL_DENO, OTEL_EXPORTER_OTLP_ENDPOINT } = collector.environment;
  await using process = await startProcess({
    entry: "tests/process/observed.ts",
    env: { OTEL_DENO, OTEL_EXPORTER_OTLP_ENDPOINT, ...settings },
  });
  const client = new ObservedClient(await process.url());
  await client.request("tools/call", {
    name: "fail",
    arguments: { text: PLANTED.argument },
  });
  process.kill("SIGINT");
  assert.equal(await process.end(), 0);
  assert(!collector.exported.includes(PLANTED.argument));
  return { collector, output: process.output };
}

Deno.test("OTEL_DENO=true alone is enough, and says what else is wanted", async () => {
  const { collector, output } = await observeFailure({});
  await using _ = collector;
  for (
    const name of ["tools/call fail", "tool_error", "POST /mcp"]
  ) assert(collector.exported.includes(name), name);
  for (
    const setting of [
      "OTEL_PROPAGATORS=tracecontext",
      "OTEL_EXPORTER_OTLP_TIMEOUT=1000",
      "OTEL_DENO_CONSOLE=ignore",
    ]
  ) assert(output.includes(`set ${setting}`), setting);
});

Deno.test("a server does not start where a collector that does not answer would keep its process for ever", async () => {
  await using collector = new Collector();
  const { OTEL_DENO, OTEL_EXPORTER_OTLP_ENDPOINT } = collector.environment;
  const env = {
    OTEL_DENO,
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
  };
  const started = async (interval: string) => {
    await using process = await startProcess({
      env: { ...env, OTEL_METRIC_EXPORT_INTERVAL: interval },
    });
    await process.prints(/"Listening"|OTEL_METRIC_EXPORT_INTERVAL: got/);
    return process.output.includes('"Listening"');
  };
  assert.equal(await started("2000"), true);
  assert.equal(await started("1999"), false);
});

Deno.test("a server that others reach does not start with telemetry that a stranger could end it with", async () => {
  const env = { OTEL_DENO: "true", BASE_URL: "https://tools.example.com" };
  await using process = await startProcess({ env });
  assert.equal(await process.end(), 1);
  assert.match(process.output, /^OTEL_PROPAGATORS: got .*tracecontext\.$/m);
});

Deno.test("a log that is not captured is written, with the ids of its trace", async () => {
  const { collector, output } = await observeFailure({
    OTEL_DENO_CONSOLE: "ignore",
    OTEL_PROPAGATORS: "tracecontext",
    OTEL_EXPORTER_OTLP_TIMEOUT: "1000",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  });
  await using _ = collector;
  assert.deepEqual(collector.records, []);
  // One of its tools waits for approvals, which no one can give here.
  const warnings = output.match(/"WARNING","logger":"[^"]+"/g);
  assert.deepEqual(warnings, ['"WARNING","logger":"tool-server.start"']);
  const line = output.split("\n").find((line) => line.includes("tools/call"))!;
  const { traceId, spanId } = JSON.parse(line);
  const [span] = collector.named("tools/call fail");
  assert.deepEqual([traceId, spanId], [span.traceId, span.spanId]);
});

Deno.test("calls are measured without their traces too", async () => {
  const { collector, output } = await observeFailure({
    OTEL_DENO_TRACING: "false",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_PROPAGATORS: "tracecontext",
  });
  await using _ = collector;
  assert.deepEqual(collector.spans, []);
  const [point, ...others] = collector.points.filter(({ metric }) =>
    metric === "mcp.server.operation.duration"
  );
  assert.deepEqual(others, []);
  assert.equal(point.count, 1);
  assert.equal(point.attributes["tool_server.outcome"], "tool_error");
  assert.doesNotMatch(output, /OTEL_PROPAGATORS/);
});
