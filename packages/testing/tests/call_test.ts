/** The test kit's calls: answers, failures, refusals, callers, the provider. */
import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import {
  eachRevision,
  type ProviderApi,
  RefusedError,
  testServer,
} from "../mod.ts";
import {
  crash,
  everything,
  greet,
  list,
  searchMail,
  steps,
  wait,
  whoami,
} from "./tools.ts";

Deno.test("call() runs schemas, scopes, settings and the provider's API", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({
      ...everything,
      env: { MAIL_FOLDER: "sent" },
      revision,
    });
    const upstream = { "/sent": { subjects: ["Tea?"] } };
    const ada = server.as({ subject: "ada", scopes: ["mail:read"] });
    const found = await ada.call(searchMail, { query: "tea" }, { upstream });
    const subjects: string[] = found.structured.subjects;
    assert.deepEqual(subjects, ["Tea?"]);
    assert.deepEqual(JSON.parse(found.text), { subjects: ["Tea?"] });
    assert.equal(found.isError, false);
    const wrong = await ada.call("search_mail", { query: 1 });
    assert.equal(wrong.isError, true);
    assert.match(wrong.text, /query/);
  }));

Deno.test("call() waits for whatever can be awaited", () =>
  eachRevision(async (revision) => {
    const query: PromiseLike<string> = {
      then: (resolve, reject) => Promise.resolve("rows").then(resolve, reject),
    };
    const rows = tool({ name: "rows", run: () => query as Promise<string> });
    await using server = await testServer({ tools: [rows], revision });
    assert.equal((await server.call(rows)).text, "rows");
  }));

Deno.test("call() types input and output by the tool itself", async () => {
  await using server = await testServer({ ...everything });
  // @ts-expect-error: the query is a string
  await server.call(searchMail, { query: 1 });
  // @ts-expect-error: the input is missing
  await server.call(searchMail);
  const { structured } = await server.call(whoami);
  // @ts-expect-error: the output has no such member
  assert.equal(structured.sub, undefined);
});

Deno.test("call() gives text, content, progress and log messages", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    const told: number[] = [];
    const result = await server.call(steps, {}, {
      onProgress: ({ progress }) => told.push(progress),
    });
    assert.equal(result.text, "one\ntwo");
    assert.equal(result.content.length, 2);
    assert.deepEqual(result.progress, [
      { progress: 1, total: 2, message: "half" },
      { progress: 2, total: 2 },
    ]);
    assert.deepEqual(told, [1, 2]);
    assert.deepEqual(result.logs, [{ level: "debug", data: { step: 1 } }]);
    assert.throws(() => result.structured, /steps declares no output/);
  }));

Deno.test("call() gives an output that is no object in both generations", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    const { structured } = await server.call(list);
    assert.deepEqual(structured, [1, 2]);
  }));

Deno.test("call() speaks the revision of the server's test, or its own", async () => {
  await using server = await testServer(everything);
  assert.equal((await server.call(greet)).text, "2026-07-28 EU");
  const older = { revision: "2025-11-25" } as const;
  assert.equal((await server.call(greet, {}, older)).text, "2025-11-25 EU");
});

Deno.test("call() repeats what the tool wants in headers", async () => {
  await using server = await testServer(everything);
  for (const region of ["US", "Zürich", " a ", ""]) {
    const { text } = await server.call(greet, { region });
    assert.equal(text, `2026-07-28 ${region}`);
  }
});

Deno.test("call() refuses an unknown tool, and tells those there are", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ tools: [greet, list], revision });
    await assert.rejects(
      server.call("gret"),
      (error: RefusedError) =>
        error instanceof RefusedError && error.code === -32602 &&
        /^gret was refused.*Unknown tool: "gret"\. The server has greet, list\.$/
          .test(error.message),
    );
  }));

Deno.test("call() refuses without the scopes, and tells which are missing", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    const ada = server.as({ subject: "ada", scopes: ["mail:send"] });
    await assert.rejects(
      ada.call(searchMail, { query: "tea" }),
      (error: RefusedError) =>
        error instanceof RefusedError && error.status === 403 &&
        /It needs mail:read; ada has mail:send\.$/.test(error.message),
    );
  }));

Deno.test("call() tells what a tool threw, with its causes", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    await assert.rejects(
      server.call(crash),
      (error: Error) =>
        error.message ===
          "crash threw TypeError: x is not a number\na cause" &&
        error.cause instanceof TypeError,
    );
  }));

Deno.test("structured tells the words of a tool that failed", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    const result = await server.call(searchMail, { query: "tea" }, {
      upstream: () => new Response(null, { status: 500 }),
    });
    assert.equal(result.isError, true);
    assert.throws(() => result.structured, /The mailbox is closed/);
  }));

Deno.test("as() is who the tool sees; by default anonymous, with all scopes", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    const anonymous = await server.call(whoami);
    assert.deepEqual(anonymous.structured, {
      subject: "anonymous",
      scopes: "all",
    });
    const ada = server.as({
      subject: "ada",
      scopes: ["a", "b"],
      clientId: "editor",
      identity: { name: "Ada" },
    });
    assert.deepEqual((await ada.call(whoami)).structured, {
      subject: "ada",
      scopes: "a,b",
      clientId: "editor",
      name: "Ada",
    });
  }));

Deno.test("upstream is a function, or routes by path, method, query and host", async () => {
  await using server = await testServer(everything);
  const answer = { subjects: ["Tea?"] };
  const apis: ProviderApi[] = [
    { "/inbox?q=tea&n=10": answer },
    { "/inbox": answer },
    { "GET /inbox": Response.json(answer) },
    { "GET /inbox?q=tea&n=10": () => Response.json(answer) },
    ({ headers }) => {
      assert.equal(headers.get("authorization"), "Bearer provider-token");
      return Response.json(answer);
    },
  ];
  for (const upstream of apis) {
    const { structured } = await server.call(
      searchMail,
      { query: "tea" },
      { upstream },
    );
    assert.deepEqual(structured, answer);
  }
});

Deno.test("upstream fails the test for a request that no route answers", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    await assert.rejects(
      server.call(searchMail, { query: "tea" }, {
        upstream: { "POST /inbox": "", "/outbox": "" },
      }),
      /called GET \/inbox\?q=tea&n=10 .* routes: POST \/inbox, \/outbox$/,
    );
  }));

Deno.test("a tool cannot hide a request that no route answers", async () => {
  const hide = tool({
    name: "hide",
    run: (_input, { upstream }) =>
      upstream.fetch("/a").then(() => "found", () => "hidden"),
  });
  await using server = await testServer({ tools: [hide] });
  await assert.rejects(
    server.call(hide, {}, { upstream: {} }),
    /called GET \/a of the provider.* routes: none$/,
  );
});

Deno.test("without upstream no provider is behind the caller", async () => {
  await using server = await testServer(everything);
  const { isError } = await server.call(searchMail, { query: "tea" });
  assert.equal(isError, true);
});

Deno.test("signal cancels a call, and the call rejects with its reason", () =>
  eachRevision(async (revision) => {
    await using server = await testServer({ ...everything, revision });
    const reason = new Error("enough");
    const abort = new AbortController();
    // A call that is not cancelled would never end.
    await assert.rejects(
      server.call(wait, {}, {
        signal: abort.signal,
        onProgress: () => abort.abort(reason),
      }),
      reason,
    );
    await assert.rejects(
      server.call(greet, {}, { signal: AbortSignal.abort(reason) }),
      reason,
    );
  }));

Deno.test("eachRevision() names the revision that failed", async () => {
  const seen: string[] = [];
  await assert.rejects(
    eachRevision((revision) => {
      seen.push(revision);
      if (revision === "2025-11-25") throw new Error("no");
    }),
    /^Error: With 2025-11-25: no$/,
  );
  assert.deepEqual(seen, ["2026-07-28", "2025-11-25"]);
});
