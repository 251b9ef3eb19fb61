import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../../src/authoring/prompt.ts";
import { resource } from "../../../src/authoring/resource.ts";
import { result } from "../../../src/authoring/result.ts";
import { tool, ToolError } from "../../../src/authoring/tool.ts";
import { notYetMeta } from "../../../src/core/protocol/not_yet.ts";
import type { Json } from "../../../tests/kit/message.ts";
import { until } from "../../../tests/kit/wait.ts";
import { Client } from "../../client/mod.ts";
import { CAPABILITIES as capabilities } from "../questions.ts";
import { answering, call, type Ended, listen, Running, serve } from "./kit.ts";

const PIXEL = "iVBORw0KGgo=";
const cancelled: string[] = [];
const tools = [
  tool({
    name: "greet",
    description: "Greets someone.\nAt length.",
    input: z.object({
      name: z.string().describe("Who is greeted."),
      times: z.int().default(1),
      loud: z.boolean().optional(),
    }),
    run: ({ name, times, loud }) =>
      Array(times).fill(loud ? name.toUpperCase() : name).join("\n"),
  }),
  tool({
    name: "sum",
    input: z.object({ numbers: z.array(z.number()) }),
    output: z.object({ sum: z.number() }),
    run: ({ numbers }) => ({ sum: numbers.reduce((a, b) => a + b, 0) }),
  }),
  tool({
    name: "fail",
    run: () => {
      throw new ToolError("No \x1b[31mwater");
    },
  }),
  tool({
    name: "picture",
    run: () => ({
      content: [
        { type: "image" as const, data: PIXEL, mimeType: "image/png" },
        { type: "image" as const, data: PIXEL, mimeType: "image/png" },
      ],
    }),
  }),
  tool({
    name: "where",
    input: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }),
    run: ({ region }) => region,
  }),
  tool({
    name: "steps",
    async run(_input, { progress, log }) {
      await progress(1, 2, "First\x1b[2J");
      await log("warning", "Careful");
      await progress(2, 2);
      return "done";
    },
  }),
  tool({
    name: "order",
    async run(_input, { ask }) {
      const form = await ask({
        message: "Which tea?",
        schema: z.object({
          tea: z.enum(["Assam", "Darjeeling"]),
          cups: z.int().min(1).default(2),
          note: z.string().optional(),
        }),
      });
      return JSON.stringify(form);
    },
  }),
  tool({
    name: "pay",
    async run(_input, { ask }) {
      const { action } = await ask({
        message: "Pay first",
        url: "https://pay.example.com/1",
      });
      return action;
    },
  }),
  tool({
    name: "brew",
    task: "required",
    async run(_input, { progress, ask }) {
      await progress(1, 2, "Brewing");
      const answer = await ask({
        message: "Milk?",
        schema: z.object({ milk: z.boolean() }),
      });
      return JSON.stringify(answer);
    },
  }),
  ...["hold", "hold-task"].map((name) =>
    tool({
      name,
      task: name === "hold" ? undefined : "required",
      async run(_input, { signal, progress }) {
        await progress(1, 2, "Holding");
        await new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            cancelled.push(name);
            reject(signal.reason);
          });
        });
        return "never";
      },
    })
  ),
];
const resources = [
  resource({ uri: "note://a", name: "note", read: () => "A note" }),
];
const prompts = [
  prompt({
    name: "explain",
    description: "Explains",
    args: z.object({ topic: z.string(), reader: z.string().optional() }),
    get: ({ topic }) => `Explain ${topic}`,
  }),
];

/** Runs a command at the server of this file. */
async function at(
  args: readonly string[],
  stdin?: string,
  env?: Record<string, string>,
): Promise<Ended> {
  await using server = await serve({ tools, resources, prompts });
  return await call([...args, "--url", server.url], { stdin, env });
}

for (const revision of ["2025-11-25", "2026-07-28"]) {
  const inRevision = (...args: string[]) => [...args, "--revision", revision];

  Deno.test(`call prints the text of a tool in ${revision}`, async () => {
    const { code, out, err } = await at(
      inRevision("greet", "name=Ada", "times=2", "loud=true"),
    );
    assert.deepEqual({ code, out, err }, {
      code: 0,
      out: "ADA\nADA\n",
      err: "",
    });
  });

  Deno.test(`call shows progress and log messages beside the result in ${revision}`, async () => {
    const { code, out, err } = await at(inRevision("steps"));
    assert.equal(code, 0);
    assert.equal(out, "done\n");
    assert.equal(err, "[1/2] First\\u001b[2J\nwarning: Careful\n[2/2]\n");
  });

  Deno.test(`call answers a form from standard input in ${revision}, and asks again for what does not fit`, async () => {
    const { code, out, err } = await at(
      inRevision("order"),
      "Coffee\nAssam\n0\n\nNo sugar\n",
    );
    assert.equal(code, 0, err);
    assert.deepEqual(JSON.parse(out), {
      action: "accept",
      content: { tea: "Assam", cups: 2, note: "No sugar" },
    });
    assert.match(err, /The server asks: Which tea\?/);
    assert.match(err, /tea: got "Coffee", wants one of Assam, Darjeeling/);
    assert.match(err, /cups: got 0, wants at least 1/);
  });

  Deno.test(`call declines and cancels in ${revision}`, async () => {
    const declined = await at(inRevision("order"), "/decline\n");
    assert.deepEqual(JSON.parse(declined.out), { action: "decline" });
    const ended = await at(inRevision("order"), "/cancel\n");
    assert.deepEqual(JSON.parse(ended.out), { action: "cancel" });
  });

  Deno.test(`call answers nothing in ${revision} where standard input ends`, async () => {
    const { code, out, err } = await at(inRevision("order"), "Assam\n");
    assert.deepEqual([code, out], [5, ""]);
    assert.match(err, /no more lines to answer with. The call has ended/);
  });

  Deno.test(`call shows a page to open, and waits, in ${revision}`, async () => {
    const { out, err } = await at(inRevision("pay"), "\n");
    assert.equal(out, "accept\n");
    assert.match(
      err,
      /It is to be done at pay\.example\.com:\nhttps:\/\/pay\.example\.com\/1/,
    );
    assert.equal((await at(inRevision("pay"), "n\n")).out, "decline\n");
  });

  Deno.test(`call says in ${revision} that a page which no one answered here may still be answered`, async () => {
    const stays = /Its page may still be answered: the same command then/;
    const ended = await at(inRevision("pay"), "");
    assert.equal(ended.code, 5);
    assert.match(ended.err, stays);
    await using server = await serve({ tools });
    const running = new Running(inRevision("pay", "--url", server.url), {
      stdin: "",
      isOpen: true,
    });
    await running.reported(/no to decline:/);
    running.interrupt();
    const { code, err } = await running.ended;
    assert.equal(code, 130);
    assert.match(err, stays);
    assert.match(err, /Cancelled\n$/);
  });

  Deno.test(`Ctrl+C cancels a call in ${revision}`, async () => {
    await using server = await serve({ tools });
    cancelled.length = 0;
    const running = new Running(inRevision("hold", "--url", server.url));
    await running.reported(/Holding/);
    running.interrupt();
    const { code, err } = await running.ended;
    assert.equal(code, 130);
    assert.match(err, /Cancelled/);
    await until(() => cancelled.includes("hold"));
  });
}

Deno.test("call of 2025 waits for the result of a call that is handed over", async () => {
  const gate = Promise.withResolvers<void>();
  const brewing = tool({
    name: "brewing",
    output: z.object({ cups: z.number() }),
    handOver: 0.05,
    async run(_input, { progress, ask }) {
      await progress(1, 2, "Brewing");
      await gate.promise;
      const { action } = await ask({
        message: "Milk?",
        schema: z.object({ milk: z.boolean() }),
      });
      return { cups: action === "accept" ? 2 : 1 };
    },
  });
  await using server = await serve({ tools: [brewing] });
  const running = new Running(
    ["brewing", "--revision", "2025-11-25", "--url", server.url],
    { stdin: "true\n" },
  );
  await running.reported(/runs on as a task\. .*\n\[working\] .*Brewing\.\n/);
  gate.resolve();
  const { code, out, err } = await running.ended;
  assert.deepEqual([code, JSON.parse(out)], [0, { cups: 2 }], err);
  assert.doesNotMatch(err, /task_status/);
});

Deno.test("Ctrl+C in 2025 cancels a call that was handed over", async () => {
  const ended = Promise.withResolvers<void>();
  const holding = tool({
    name: "holding",
    handOver: 0.05,
    async run(_input, { signal }) {
      signal.addEventListener("abort", () => ended.resolve());
      await ended.promise;
      return "never";
    },
  });
  await using server = await serve({ tools: [holding] });
  const command = ["holding", "--revision", "2025-11-25"];
  const running = new Running([...command, "--url", server.url]);
  await running.reported(/runs on as a task/);
  running.interrupt();
  assert.equal((await running.ended).code, 130);
  await ended.promise;
});

const WORDS = 'It still runs. Call task_status again with {"taskId":"x"} ' +
  "for its result.";

Deno.test("call of 2025 shows words about a task of another server as they are", async () => {
  const repeat = tool({ name: "repeat", run: () => WORDS });
  await using server = await serve({ tools: [repeat] });
  const command = ["repeat", "--revision", "2025-11-25"];
  const { code, out } = await call([...command, "--url", server.url]);
  assert.deepEqual([code, out], [0, `${WORDS}\n`]);
});

Deno.test("call of 2025 asks no server for a task that only the words of a tool name", async () => {
  const called: string[] = [];
  await using server = answering((method, params) => {
    if (method === "tools/call") called.push(params.name);
    return {
      "initialize": { protocolVersion: "2025-11-25", capabilities: {} },
      "tools/list": {
        tools: ["repeat", "task_status"].map((name) => ({
          name,
          inputSchema: { type: "object" },
        })),
      },
      "tools/call": { content: [{ type: "text", text: WORDS }] },
    }[method];
  });
  const command = ["repeat", "--revision", "2025-11-25"];
  const { code, out } = await call([...command, "--url", server.url]);
  assert.deepEqual([code, out, called], [0, `${WORDS}\n`, ["repeat"]]);
});

Deno.test("call of 2025 repeats a call that goes on, where the server says so", async () => {
  let count = 0;
  const slow = tool({
    name: "slow",
    output: z.object({ count: z.number() }),
    input: z.object({ a: z.string() }),
    run: () =>
      result({ count: ++count }, {
        meta: count === 1
          ? notYetMeta({ taskId: "t", state: "Runs.", isRepeatable: true })
            ._meta
          : {},
      }),
  });
  await using server = await serve({ tools: [slow] });
  const command = ["slow", "a=x", "--revision", "2025-11-25"];
  const { code, out, err } = await call([...command, "--url", server.url]);
  assert.deepEqual([code, JSON.parse(out)], [0, { count: 2 }], err);
});

for (const revision of ["2025-11-25", "2026-07-28"]) {
  Deno.test(`Ctrl+C ends a call whose task's end is not answered, in ${revision}`, async () => {
    const never = Promise.withResolvers<Response>();
    const holding = tool({
      name: "holding",
      handOver: 0.05,
      run: (_input, { signal }) =>
        new Promise<string>((resolve) =>
          signal.addEventListener("abort", () => resolve("ended"))
        ),
    });
    await using server = await serve({ tools: [holding] });
    await using silent = listen(async (request) => {
      const body = await request.text();
      if (/"tasks\/cancel"|"task_cancel"/.test(body)) {
        // A terminal sends Ctrl+C to all its processes, and `deno task` passes
        // it on, so the command gets it twice.
        running.interrupt();
        return await never.promise;
      }
      return await fetch(server.url, {
        method: request.method,
        headers: request.headers,
        body: body || undefined,
      });
    });
    const command = ["holding", "--revision", revision, "--url", silent.url];
    const running = new Running(command);
    await running.reported(/runs on as a task/);
    running.interrupt();
    const { code, err } = await running.ended;
    assert.equal(code, 130);
    assert.match(err, /Cancelled/);
    never.resolve(new Response());
  });
}

Deno.test("call follows a task to its end, and answers it", async () => {
  const { code, out, err } = await at(["brew"], "true\n");
  assert.equal(code, 0, err);
  assert.deepEqual(JSON.parse(out), {
    action: "accept",
    content: { milk: true },
  });
  assert.match(err, /Brewing/);
});

Deno.test("call leaves the question of a task open where standard input ends", async () => {
  await using server = await serve({ tools });
  const { code, err } = await call(["brew", "--url", server.url], {
    stdin: "",
  });
  assert.equal(code, 5);
  const [, id] = /stays open: answer it with --task (\S+),/.exec(err)!;
  const later = await call(["--task", id, "--url", server.url], {
    stdin: "no\n",
  });
  assert.equal(later.code, 0, later.err);
  assert.deepEqual(JSON.parse(later.out).content, { milk: false });
});

Deno.test("call goes on when its question is answered elsewhere, and asks the next one", async () => {
  const asking = tool({
    name: "asking",
    task: "required",
    async run(_input, { ask }) {
      const schema = z.object({ sure: z.literal(true) });
      const first = await ask({ message: "Milk?", key: "milk", schema });
      const second = await ask({ message: "Sugar?", key: "sugar", schema });
      return `${first.action} ${second.action}`;
    },
  });
  await using server = await serve({ tools: [asking] });
  const { url } = server;
  const running = new Running(["asking", "--url", url], {
    stdin: "",
    isOpen: true,
  });
  const [, taskId] = await running.reported(/call --task (\S+)/);
  await running.reported(/Milk\?[^]*sure \(yes or no\):/);
  const client = new Client({ url, capabilities });
  const { inputRequests } = await client.request("tasks/get", { taskId });
  const [key] = Object.keys(inputRequests as Json);
  const answer = { action: "accept", content: { sure: true } };
  const inputResponses = { [key]: answer };
  await client.request("tasks/update", { taskId, inputResponses });
  await running.reported(
    /Milk\?[^]*Answered on the page\.\n[^]*Sugar\?[^]*sure \(/,
  );
  await running.type("no\n");
  const { code, out, err } = await running.ended;
  assert.deepEqual([code, out], [0, "accept decline\n"], err);
});

Deno.test("call of a task whose question no one answers in time does not say that someone did", async () => {
  const question = {
    method: "elicitation/create",
    params: { message: "Sure?", requestedSchema: {} },
  };
  const result = {
    content: [{ type: "text", text: "No one approved this in time" }],
    isError: true,
  };
  let isOver = false;
  await using server = answering((method) => {
    if (method === "subscriptions/listen") return new Response(null);
    const state = isOver
      ? { status: "completed", result }
      : { status: "input_required", inputRequests: { sure: question } };
    return { taskId: "t", pollIntervalMs: 100, ...state };
  });
  const running = new Running(["--task", "t", "--url", server.url], {
    stdin: "",
    isOpen: true,
  });
  await running.reported(/to agree/);
  isOver = true;
  const { code, err } = await running.ended;
  assert.equal(code, 1);
  assert.match(err, /Sure\?[^]*No one approved this in time/);
  assert.doesNotMatch(err, /Answered/);
});

Deno.test("call that is cut off says that it may have run, and how to learn of an approved run", async () => {
  const list = ["plain", "approved"].map((name) => ({
    name,
    inputSchema: { type: "object" },
    ...name === "approved" && { _meta: { "tool-server/approval": "always" } },
  }));
  await using server = answering((method) =>
    method === "tools/list"
      ? { tools: list }
      : method === "tools/call"
      ? new Response(
        new ReadableStream({ start: (it) => it.error("cut") }),
        { headers: { "content-type": "text/event-stream" } },
      )
      : {}
  );
  for (const name of ["plain", "approved"]) {
    const { code, err } = await call([name, "--url", server.url]);
    assert.equal(code, 3);
    assert.match(err, /The call may have run/);
    const tells = /The same command tells what came of a run that was approved/;
    assert.equal(tells.test(err), name === "approved");
  }
});

Deno.test("call ends when its task is cancelled at a question", async () => {
  await using server = await serve({ tools });
  const { url } = server;
  const running = new Running(["brew", "--url", url], {
    stdin: "",
    isOpen: true,
  });
  const [, taskId] = await running.reported(/call --task (\S+)/);
  await running.reported(/milk \(yes or no\):/);
  await new Client({ url, capabilities }).request("tasks/cancel", { taskId });
  const { code, err } = await running.ended;
  assert.equal(code, 3);
  assert.match(err, /milk \(yes or no\): \nThe task was cancelled\n$/);
});

Deno.test("Ctrl+C cancels the task that a call became", async () => {
  await using server = await serve({ tools });
  cancelled.length = 0;
  const running = new Running(["hold-task", "--url", server.url]);
  await running.reported(/Holding/);
  running.interrupt();
  assert.equal((await running.ended).code, 130);
  await until(() => cancelled.includes("hold-task"));
});

Deno.test("--task gives the result of a call that another command began", async () => {
  await using server = await serve({ tools });
  const begun = new Running(["brew", "--url", server.url], { stdin: "true\n" });
  const [, id] = await begun.reported(/with: deno task ts call --task (\S+)\n/);
  const { out } = await begun.ended;
  const later = await call(["--task", id, "--url", server.url]);
  assert.deepEqual(later, { code: 0, out, err: "" });
});

Deno.test("Ctrl+C at --task leaves the task alone", async () => {
  await using server = await serve({ tools });
  cancelled.length = 0;
  const at = ["--url", server.url];
  const begun = new Running(["hold-task", ...at]);
  const [, id] = await begun.reported(/--task (\S+)/);
  const watching = new Running(["--task", id, ...at]);
  await watching.reported(/Holding/);
  watching.interrupt();
  const { code, err } = await watching.ended;
  assert.equal(code, 130);
  assert.match(err, /Stopped waiting: the task goes on/);
  assert.doesNotMatch(err, /Cancelled/);
  assert.deepEqual(cancelled, []);
  begun.interrupt();
  await begun.ended;
});

Deno.test("--task tells once that the server is away, and once that it is back", async () => {
  const away = [503, 502];
  await using server = answering((method) => {
    if (method === "subscriptions/listen") {
      return new Response(null, { status: away.shift() ?? 200 });
    }
    const status = away.length > 0 ? "working" : "completed";
    return { taskId: "t", status, result: { content: [], isError: false } };
  });
  const { code, err } = await call(["--task", "t", "--url", server.url]);
  assert.equal(code, 0);
  assert.equal(
    err,
    "The server does not answer: trying again for a minute\n" +
      "The server answers again\n",
  );
});

Deno.test("--task tells that a task failed, not that the server refuses", async () => {
  const error = { code: -32603, message: "Its process has stopped" };
  const failed = { taskId: "t", status: "failed", error };
  await using server = answering(() => failed);
  const { code, err } = await call(["--task", "t", "--url", server.url]);
  assert.equal(code, 3);
  assert.equal(err, "The task failed (-32603): Its process has stopped\n");
});

Deno.test("--task tells that a task was cancelled, as no refusal", async () => {
  await using server = await serve({ tools });
  const at = ["--url", server.url];
  const begun = new Running(["hold-task", ...at]);
  const [, id] = await begun.reported(/--task (\S+)/);
  begun.interrupt();
  await begun.ended;
  const ended = await call(["--task", id, ...at]);
  const err = "The task was cancelled\n";
  assert.deepEqual(ended, { code: 3, out: "", err });
});

Deno.test("--task refuses an unknown ID, other words, and a server of 2025", async () => {
  const nothing = await at(["--task", "nothing"]);
  assert.equal(nothing.code, 3);
  assert.match(nothing.err, /task/i);
  assert.equal((await at(["--task", "a", "b"])).code, 2);
  await using server = listen(() => new Response(null, { status: 400 }));
  const old = await call(["--task", "a", "--url", server.url]);
  assert.equal(old.code, 2);
  assert.match(old.err, /--task wants a server of 2026-07-28/);
});

Deno.test("call prints structured content as JSON", async () => {
  const { out } = await at(["sum", "numbers=1,2", "--json"]);
  assert.deepEqual(JSON.parse(out), { sum: 3 });
});

Deno.test("call takes all arguments as JSON, from a word or standard input", async () => {
  const word = await at(["greet", "--json", '{"name":"Ada"}', "times=2"]);
  assert.equal(JSON.parse(word.out).content[0].text, "Ada\nAda");
  const piped = await at(["greet", "-"], '{"name":"Bob"}');
  assert.equal(piped.out, "Bob\n");
});

Deno.test("call answers no question where standard input held the arguments", async () => {
  const { code, out } = await at(["order", "-"], "{}");
  assert.deepEqual([code, out], [5, ""]);
});

Deno.test("call repeats an argument in its header", async () => {
  const { code, out } = await at(["where", "region=Grünau"]);
  assert.deepEqual({ code, out }, { code: 0, out: "Grünau\n" });
});

Deno.test("call exits with 1 when the tool fails, and shows its words harmless", async () => {
  const { code, out, err } = await at(["fail"]);
  assert.deepEqual({ code, out, err }, {
    code: 1,
    out: "",
    err: "No \\u001b[31mwater\n",
  });
});

Deno.test("call exits with 2 for a wrong argument and an unknown tool", async () => {
  const argument = await at(["greet", "name=Ada", "times=many"]);
  assert.equal(argument.code, 2);
  assert.equal(argument.err, 'times: got "many", wants integer\n');
  const unknown = await at(["gret"]);
  assert.equal(unknown.code, 2);
  assert.equal(unknown.err, "There is no tool gret. Did you mean greet?\n");
});

Deno.test("call saves images, and tells of them otherwise", async () => {
  const told = await at(["picture"]);
  assert.equal(told.err, "image/png, 8 bytes: --out FILE saves it\n".repeat(2));
  const directory = await Deno.makeTempDir();
  try {
    const { code } = await at(["picture", "--out", `${directory}/a.png`]);
    assert.equal(code, 0);
    for (const name of ["a.png", "a-2.png"]) {
      const bytes = await Deno.readFile(`${directory}/${name}`);
      assert.equal(bytes.toBase64(), PIXEL);
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("call reads a resource and gets a prompt", async () => {
  assert.equal((await at(["note://a"])).out, "A note\n");
  const explained = await at(["--prompt", "explain", "topic=tea"]);
  assert.equal(explained.out, "Explain tea\n");
  const missing = await at(["--prompt", "explain"]);
  assert.deepEqual([missing.code, missing.err], [2, "Missing: topic=string\n"]);
});

Deno.test("list shows tools with their arguments, and everything with --all", async () => {
  const { out } = await at(["--list"]);
  assert.match(
    out,
    /^greet: Greets someone\.\n +name=string +Who is greeted\./,
  );
  assert.match(out, /times=integer +optional; 1 by default\n/);
  assert.doesNotMatch(out, /note:/);
  const all = await at(["--list", "--all"]);
  assert.match(all.out, /Resources: 1\nnote:\/\/a\n/);
  assert.match(all.out, /Prompts: 1\nexplain: Explains\n +topic=string\n/);
  const raw = await at(["--list", "--json"]);
  assert.equal(JSON.parse(raw.out).tools[0].name, "greet");
});

Deno.test("list shows which tools wait for an approval, and by whom", async () => {
  const run = () => "";
  await using server = await serve({
    tools: [
      tool({ name: "free", run }),
      tool({ name: "own", approval: {}, run }),
      tool({ name: "some", approval: { when: () => true }, run }),
      tool({
        name: "others",
        input: z.object({ cents: z.int() }),
        approval: { by: { scope: "pay:approve" } },
        run,
      }),
    ],
  });
  const { out } = await call(["--list", "--url", server.url]);
  assert.equal(
    out,
    [
      "free",
      "own",
      "    (waits for your approval)",
      "some",
      "    (may wait for your approval)",
      "others",
      "    (waits for the approval of someone with the scope pay:approve)",
      "    cents=integer",
    ].join("\n") + "\n",
  );
});

Deno.test("list ends quietly when its reader has seen enough", async () => {
  await using server = await serve({
    tools: Array.from({ length: 3000 }, (_, index) =>
      tool({
        name: `tool_${index}`,
        description: "x".repeat(100),
        run: () => "",
      })),
  });
  const command = new Deno.Command("sh", {
    args: [
      "-c",
      '{ "$0" run -A --quiet packages/call/mod.ts --list --url "$1"; ' +
      "echo $? >&2; } | head -1",
      Deno.execPath(),
      server.url,
    ],
    cwd: new URL("../../../", import.meta.url),
    stdout: "piped",
    stderr: "piped",
  });
  const { stderr } = await command.output();
  assert.equal(new TextDecoder().decode(stderr), "0\n");
});

Deno.test("call ends with its own exit code when no one reads standard error", async () => {
  await using server = await serve({ tools });
  const child = new Deno.Command("sh", {
    args: [
      "-c",
      '{ "$0" run -A --quiet packages/call/mod.ts none --url "$1" 2>&1; ' +
      "echo $? >&2; } | true",
      Deno.execPath(),
      server.url,
    ],
    cwd: new URL("../../../", import.meta.url),
    stdout: "piped",
    stderr: "piped",
  });
  const { stderr } = await child.output();
  assert.equal(new TextDecoder().decode(stderr), "2\n");
});

Deno.test("call finds the server of the environment", async () => {
  await using server = await serve({ tools });
  const { hostname: HOST, port: PORT } = new URL(server.url);
  const local = await call(["greet", "name=Ada"], { env: { HOST, PORT } });
  assert.equal(local.out, "Ada\n", local.err);
  const { origin: BASE_URL } = server;
  const named = await call(["greet", "name=Ada"], { env: { BASE_URL } });
  assert.equal(named.out, "Ada\n", named.err);
});

Deno.test("call exits with 3 when nothing answers", async () => {
  const { url, ...server } = listen(() => new Response());
  await server[Symbol.asyncDispose]();
  const { code, err } = await call(["greet", "--url", url]);
  assert.equal(code, 3);
  assert.equal(
    err,
    `Nothing listens at ${url}. Is \`deno task dev\` running? For another port ` +
      "set PORT, or give --url\n",
  );
});

Deno.test("call says that /mcp is missing where BASE_URL is given in its place", async () => {
  for (const status of [404, 405]) {
    await using server = listen(() =>
      Response.json({ error: "none" }, { status })
    );
    const base = `${new URL(server.url).origin}/tools`;
    const { code, err } = await call(["greet", "--url", base]);
    assert.equal(code, 3);
    assert.match(err, new RegExp(`--url ${base}/mcp$`, "m"));
    const whole = await call(["greet", "--url", `${base}/mcp`]);
    assert.doesNotMatch(whole.err, /--url/);
  }
});

Deno.test("call speaks 2025 with a server that knows nothing later", async () => {
  await using server = answering((method) =>
    ({
      "initialize": { protocolVersion: "2025-06-18", capabilities: {} },
      "tools/list": { tools: [{ name: "a", inputSchema: {} }] },
      "tools/call": { content: [{ type: "text", text: "old" }] },
    } as Json)[method] ??
      Response.json({ error: "no session" }, { status: 400 })
  );
  const { code, out, err } = await call(["a", "--url", server.url]);
  assert.deepEqual({ code, out, err }, { code: 0, out: "old\n", err: "" });
});

Deno.test("call prints nothing that controls a terminal, as JSON neither", async () => {
  const name = "a\x1b]0;x\x07\x9b2J";
  const tools = [{ name, inputSchema: {}, description: name }];
  await using server = answering(() => ({ tools }));
  for (const more of [[], ["--json"], ["--all"]]) {
    const { out, err } = await call(["--list", "--url", server.url, ...more]);
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(out + err, /[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    assert.match(out, /\\u001b/);
  }
});

Deno.test("list --all shows what there is of a server with tools alone", async () => {
  const error = { code: -32601, message: "No such method" };
  await using server = answering((method) =>
    method === "tools/list" || method === "server/discover"
      ? { tools: [{ name: "a", inputSchema: {} }] }
      : Response.json({ jsonrpc: "2.0", error }, { status: 404 })
  );
  const { code, out } = await call(["--list", "--all", "--url", server.url]);
  assert.equal(code, 0);
  assert.equal(
    out,
    "Tools: 1\na\nResources: none\nTemplates: none\nPrompts: none\n",
  );
});

Deno.test("call reads no list without an end", async () => {
  let pages = 0;
  const page = () => ({ tools: [], nextCursor: `${++pages}` });
  await using server = answering(page);
  const { err } = await call(["--list", "--url", server.url]);
  assert.match(err, /Only the first 100 pages/);
  assert(pages < 110);
});
