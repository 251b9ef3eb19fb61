/** One request from its checks to its answer, without a server. */
import assert from "node:assert/strict";
import { tool, ToolError } from "../../../../src/authoring/tool.ts";
import { ANONYMOUS } from "../../../../src/core/caller.ts";
import { Call } from "../../../../src/core/mcp/exchange/call.ts";
import type {
  AdmittedRequest,
  Engine,
} from "../../../../src/core/mcp/exchange/engine.ts";
import {
  PendingResponse,
  type Result,
} from "../../../../src/core/mcp/exchange/answer.ts";
import {
  ChallengeError,
  HttpError,
  LimitError,
  RpcError,
} from "../../../../src/core/errors.ts";
import { compileCatalogue } from "../../../../src/core/catalogue/catalogue.ts";
import type { Json } from "../../../kit/message.ts";
import { outcome } from "../../../kit/answer.ts";
import {
  type Method,
  respond,
  runCall,
  settleCall,
} from "../../../../src/core/mcp/exchange/run.ts";

const catalogue = compileCatalogue(
  { tools: [tool({ name: "echo", run: () => "" })] },
  { serverInfo: { name: "s", version: "1" } },
);

/** The tested call, of a client that is never asked. */
class TestCall extends Call {
  readonly stateless = true;
  readonly client = {
    capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } },
    revision: "2026-07-28",
  };
  readonly printedLists = catalogue.session;
  readonly logLevel = undefined;
  readonly isAsking = false;
  request = () => Promise.reject(new Error("unasked"));
  suspend = () => Promise.reject(new Error("unasked"));
}

interface Settings {
  method?: string;
  isObserved?: boolean;
  hasLedger?: boolean;
  logs?: boolean;
  /** Refuses every call before it runs. */
  check?: () => void;
  charge?: () => void;
  response?: PendingResponse;
  userAgent?: string;
}

/** Makes a call with a record of everything it reports. */
function callOf({
  method = "tools/call",
  isObserved = false,
  hasLedger = true,
  logs = true,
  check = () => {},
  charge = () => {},
  response,
  userAgent = "",
}: Settings = {}) {
  /** The reports, in order. */
  const told: Json[] = [];
  let milliseconds = 1000;
  const line =
    (level: string) => (_message: string, { outcome, tool, error }: Json) =>
      told.push([level, outcome ?? error.message, tool]);
  const engine = {
    bodies: { begin() {}, end() {} },
    running: { check, add() {}, delete() {} },
    limits: { charge },
    log: {
      isEnabledFor: () => logs,
      info: line("info"),
      warning: line("warning"),
      error: line("error"),
    },
    ledger: hasLedger
      ? { note: (_: string, call: Json) => told.push(["note", call.outcome]) }
      : undefined,
    clock: () => milliseconds,
    trustedProxies: [],
    gate: {
      challenge: ({ error, scopes }: ChallengeError) =>
        `${error} ${scopes.join(" ")}`,
    },
  } as unknown as Engine;
  const operation = isObserved
    ? {
      take: () => told.push(["take"]),
      run: (work: () => unknown) => work(),
      end: ({ outcome, code, isToolError }: Json) =>
        told.push(["end", outcome, code, isToolError]),
    } as unknown as AdmittedRequest["operation"]
    : undefined;
  const call = new TestCall(
    engine,
    { kind: "request", id: 1, method, params: { name: "echo" } },
    {
      request: new Request("http://localhost/mcp", {
        headers: { "user-agent": userAgent },
      }),
      version: null,
      authenticated: { caller: { ...ANONYMOUS, grantId: "g" } },
      catalogue,
      operation,
      messageBytes: 0,
      hasOrigin: false,
    },
    response,
  );
  return { call, engine, told, tick: (by: number) => milliseconds += by };
}

const RESULT = { result: "{}" };
const ok: Method = () => RESULT;

function failWith(error: unknown): Method {
  return () => {
    throw error;
  };
}

Deno.test("respond() answers with JSON where nothing precedes the result, at once or later", async () => {
  for (const method of [ok, () => Promise.resolve(RESULT)]) {
    const { call, told } = callOf();
    const answer = await outcome(respond(call, method));
    assert.deepEqual(answer, {
      status: 200,
      jsonrpc: "2.0",
      id: 1,
      result: {},
    });
    assert.deepEqual(told, [["note", "ok"], ["info", "ok", "echo"]]);
  }
});

Deno.test("respond() ends the stream that its method opened, at once or later", async () => {
  for (const result of [RESULT, Promise.resolve(RESULT)]) {
    const { call } = callOf();
    const response = await respond(call, (call) => {
      call.response.open();
      return result;
    });
    assert.match(await response.text(), /^:\n\nevent: message\ndata: .+\n\n$/);
  }
});

Deno.test("respond() ends without a message once the client wants none", async () => {
  const { call, told } = callOf();
  const response = await respond(call, (call) => {
    call.execution.cancel("enough");
    return RESULT;
  });
  assert.equal(await response.text(), ":\n\n");
  assert.deepEqual(told, [["note", "cancelled"], [
    "info",
    "cancelled",
    "echo",
  ]]);
});

Deno.test("runCall() refuses what there is too much of, and runs nothing", async () => {
  const limit = () => {
    throw new LimitError("calls", 5);
  };
  for (const settings of [{ check: limit }, { charge: limit }]) {
    const { call, told } = callOf({ ...settings, isObserved: true });
    const { result } = await outcome(
      respond(call, () => assert.fail("it was refused")),
    );
    // No client shows the model an HTTP status.
    assert.equal(result.isError, true);
    assert.deepEqual(told.at(-1), ["end", "refused", undefined, true]);
    const other = callOf({ ...settings, method: "prompts/get" });
    const { status, error } = await outcome(respond(other.call, ok));
    assert.equal(status, 429);
    assert.match(error.message, /^Too many calls/);
  }
});

Deno.test("runCall() tells telemetry how a call ended, so that the code that began it need not", () => {
  for (
    const [method, outcome, isToolError] of [
      [ok, "ok", undefined],
      [() => ({ ...RESULT, isToolError: true }), "tool_error", true],
      [failWith(new ToolError("no")), "tool_error", true],
    ] as [Method, string, boolean | undefined][]
  ) {
    const { call, told } = callOf({ isObserved: true });
    runCall(call, method);
    assert.deepEqual(told, [
      ["take"],
      ["note", outcome],
      ["info", outcome, "echo"],
      ["end", outcome, undefined, isToolError],
    ]);
  }
});

Deno.test("runCall() tells of a call that was told to stop, and ended, as stopped", async () => {
  const { call, told } = callOf();
  const ending = await runCall(call, (call) => {
    call.execution.stop("enough");
    return Promise.resolve(RESULT);
  });
  assert.match(ending.body!, /result/);
  assert.deepEqual(told, [["note", "stopped"], ["info", "stopped", "echo"]]);
});

Deno.test("runCall() reports what no one meant to throw, unless the call was cancelled or told to stop", async () => {
  const secret = failWith(new Error("secret"));
  const { call, told } = callOf();
  const words = `Internal error (reference ${call.requestId})`;
  const { result } = await outcome(respond(call, secret));
  assert.deepEqual([result.isError, result.content[0].text], [true, words]);
  assert.deepEqual(told, [
    ["error", "secret", "echo"],
    ["note", "internal_error"],
    ["info", "internal_error", "echo"],
  ]);
  const prompt = callOf({ method: "prompts/get" });
  const { error } = await outcome(respond(prompt.call, secret));
  assert.match(error.message, /^Internal error \(reference/);
  const stopped = callOf();
  stopped.call.execution.stop("enough");
  const { body } = await runCall(stopped.call, secret);
  assert.equal(JSON.parse(body!).result.content[0].text, "enough");
  assert.deepEqual(stopped.told, [["note", "stopped"], [
    "info",
    "stopped",
    "echo",
  ]]);
});

Deno.test("runCall() tells the log why something that we depend on failed, and of no other refusal", () => {
  for (
    const [status, levels] of [
      [499, ["note", "info"]],
      [500, ["warning", "note", "info"]],
      [503, ["warning", "note", "info"]],
    ] as const
  ) {
    const { call, told } = callOf();
    runCall(call, failWith(new HttpError(status, `test ${status}`)));
    assert.deepEqual(told.map(([level]) => level), levels);
  }
});

Deno.test("runCall() puts a refusal in words where HTTP has its status already", async () => {
  const away = new HttpError(429, "It is away");
  const { call, told } = callOf({
    response: new PendingResponse(true),
    isObserved: true,
  });
  const { body } = await runCall(call, failWith(away));
  assert.deepEqual(JSON.parse(body!).result.isError, true);
  assert.deepEqual(told.at(-1), ["end", "refused", undefined, true]);
  const other = callOf({
    method: "prompts/get",
    response: new PendingResponse(true),
    isObserved: true,
  });
  const ending = await runCall(other.call, failWith(away));
  assert.equal(JSON.parse(ending.body!).error.message, "It is away");
  assert.deepEqual(other.told.at(-1), ["end", "refused", -32603, undefined]);
});

Deno.test("a question ends a call, whatever its run gives or throws later", async () => {
  for (const method of [ok, failWith(new Error("late"))]) {
    const { call, told } = callOf();
    const asking = respond(call, (call) => {
      settleCall(call, { ask: { inputRequests: {}, requestState: "s" } });
      return method(call);
    });
    const { result } = await outcome(asking);
    assert.deepEqual(result, {
      resultType: "input_required",
      inputRequests: {},
      requestState: "s",
    });
    assert.deepEqual(told, [["note", "input_required"], [
      "info",
      "input_required",
      "echo",
    ]]);
  }
});

Deno.test("a challenge for scopes is in the result for the client that looks for it there, and in HTTP for others", async () => {
  const scopes = ["mail"];
  for (
    const [userAgent, error, status] of [
      ["openai-mcp/1.0.0 (ChatGPT)", "insufficient_scope", 200],
      ["openai-mcp/1.0.0 (ChatGPT)", undefined, 200],
      ["openai-mcp/1.0.0 (ChatGPT)", "invalid_token", 401],
      ["like openai-mcp/1.0.0", "insufficient_scope", 403],
      [undefined, "insufficient_scope", 403],
    ] as const
  ) {
    const { call, told } = callOf({ userAgent });
    const challenge = new ChallengeError("Sign in", error, scopes);
    const response = await respond(call, failWith(challenge));
    const header = response.headers.get("www-authenticate");
    const { result } = await response.json();
    assert.equal(response.status, status);
    assert.equal(header === null, status === 200);
    if (status === 200) {
      assert.deepEqual(result._meta["mcp/www_authenticate"], [
        "insufficient_scope mail",
      ]);
    }
    assert.deepEqual(told, [["note", "refused"], ["info", "refused", "echo"]]);
  }
});

Deno.test("a log, a ledger and an error that throw take no answer away", async () => {
  const { call, engine } = callOf();
  const broken = () => {
    throw new Error("broken");
  };
  engine.ledger!.note = broken;
  assert.deepEqual((await outcome(respond(call, ok))).result, {});
  const data = {
    get secret() {
      return broken();
    },
  };
  const hostile = new RpcError(-1, "words", { data });
  const { error } = await outcome(respond(callOf().call, failWith(hostile)));
  assert.equal(error, undefined);
});

Deno.test("a call that has ended neither ends again nor says more", async () => {
  const { call, told } = callOf();
  const response = await respond(call, ok);
  const before = told.length;
  runCall(call, failWith(new Error("late")));
  runCall(call, ok);
  call.execution.cancel("late");
  await call.notify("notifications/progress", {});
  assert.equal(told.length, before);
  assert.equal(call.signal.aborted, false);
  assert.match(await response.text(), /result/);
});

Deno.test("a call that a task goes on with is noted when that ends", async () => {
  const { call, told } = callOf();
  const goesOn = { resultType: "task", taskId: "t" };
  const answer = { taskId: "t", goesOn };
  const { result } = await outcome(respond(call, () => answer));
  assert.deepEqual([result.resultType, result.taskId], ["task", "t"]);
  assert.deepEqual(told, [["info", "ok", "echo"]]);
  call.endTask("t", "tool_error");
  assert.deepEqual(told.slice(1), [
    ["note", "tool_error"],
    ["info", "tool_error", "echo"],
  ]);
});

Deno.test("a call is told to no ledger and no log that is not kept", () => {
  const { call, told } = callOf({ hasLedger: false, logs: false });
  runCall(call, ok);
  assert.deepEqual(told, []);
});

Deno.test("expel() ends a call at once with an error that says why, as JSON and on a stream: its tool answers no one any more", async () => {
  for (const isStream of [false, true]) {
    const { call } = callOf();
    const { promise, resolve } = Promise.withResolvers<Result>();
    const responding = respond(call, () => promise);
    if (isStream) call.response.open();
    call.execution.expel();
    assert.equal(call.signal.aborted, true);
    resolve({ result: "{}" });
    const response = await responding;
    assert.equal(response.status, isStream ? 200 : 403);
    const text = await response.text();
    const { error } = JSON.parse(/\{.*\}/.exec(text)![0]);
    assert.deepEqual(error, {
      code: -32000,
      message: "The session or permission of this call has ended, or is paused",
    });
    assert.equal(call.execution.ending?.outcome, "stopped");
  }
});

Deno.test("notify() cancels a call whose client stopped reading", async () => {
  const { call } = callOf();
  const sending = Array.from(
    { length: 18 },
    () => call.notify("notifications/message", { data: "x".repeat(1 << 20) }),
  );
  await Promise.all(sending);
  assert.equal(call.signal.aborted, true);
  assert.equal(call.execution.hasEnded, true);
});
