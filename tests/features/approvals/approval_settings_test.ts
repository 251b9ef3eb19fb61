/** Durable work whose operator wants approvals, or none any more, meanwhile. */
import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { receiptStore } from "../../../src/features/approvals/receipts.ts";
import { resultOf } from "../../kit/answer.ts";
import { openTestKv } from "../../kit/databases.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import type { Json } from "../../kit/message.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import { FORMS, open, press } from "./approving.ts";

const WANTED = { APPROVALS: "archive=caller" };
const capabilities = { ...FORMS, ...TASKS };

/** One piece of durable work, over servers with other settings. */
class Work implements Disposable {
  readonly #time = new MovedTime();
  ran: string[] = [];
  #taskId = "";

  constructor(readonly kv: Deno.Kv) {}

  async serve(
    environment: Record<string, string>,
    act: (server: OAuthServer) => Promise<unknown>,
    { title, version }: { title?: string; version?: number } = {},
  ): Promise<void> {
    const archive = tool({
      name: "archive",
      title,
      task: { durable: true, version },
      run: async (_, { approval, step, sleep }) => {
        const by = approval?.by ?? "no one";
        await step("first", () => void this.ran.push(`first ${by}`));
        await sleep("rest", 3600);
        await step("second", () => void this.ran.push(`second ${by}`));
        await sleep("again", 3600);
        return "archived";
      },
    });
    await using server = await startOAuthServer({
      kv: this.kv,
      tools: [archive],
      environment,
    });
    await act(server);
  }

  /** Begins the work; returns the link of its approval, if it waits for one. */
  async begin(server: OAuthServer): Promise<string | undefined> {
    const { headers } = await server.person();
    const options = { headers, capabilities };
    const params = { name: "archive", arguments: {} };
    const { taskId } = await resultOf(
      server.call("tools/call", params, options),
    );
    this.#taskId = taskId;
    return await this.linkOrSleep(server);
  }

  async read(server: OAuthServer) {
    const { headers } = await server.person();
    const params = { taskId: this.#taskId };
    return await resultOf(
      server.call("tasks/get", params, { headers, capabilities }),
    );
  }

  /** Waits until the work has a link, sleeps after its first step, or has ended. */
  async linkOrSleep(server: OAuthServer): Promise<string | undefined> {
    let link: string | undefined;
    await until(async () => {
      const { status, statusMessage = "" } = await this.read(server);
      [link] = /http\S*approve\S*/.exec(statusMessage) ?? [];
      return link !== undefined || /^Sleeps/.test(statusMessage) ||
        status !== "working";
    });
    return link;
  }

  /** Waits until the first step is stored, and the work sleeps after it. */
  async sleeps(server: OAuthServer): Promise<void> {
    await until(async () => {
      const { statusMessage = "" } = await this.read(server);
      return /^Sleeps/.test(statusMessage);
    });
  }

  /** Reads the end of the work, an hour later. */
  async end(server: OAuthServer) {
    let task = await this.read(server);
    await until(async () => {
      this.#time.tick(600);
      task = await this.read(server);
      return task.status !== "working" && task.status !== "input_required";
    });
    return task.result?.content[0].text ?? task.error?.message;
  }

  tick(seconds: number): void {
    this.#time.tick(seconds);
  }

  [Symbol.dispose](): void {
    this.#time[Symbol.dispose]();
  }
}

Deno.test("durable work goes on by its approval once the operator wants none any more, also under another title", async () => {
  await using kv = await openTestKv();
  using work = new Work(kv);
  await work.serve(WANTED, async (server) => {
    const link = await work.begin(server);
    await press(await open(server, link!), "approve");
    // Until then the process may end within the first step.
    await work.sleeps(server);
  });
  await work.serve({}, async (server) => {
    assert.equal(await work.end(server), "archived");
  }, { title: "Archive everything" });
  assert.deepEqual(work.ran, ["first github:42", "second github:42"]);
  const day = 86_400;
  const [{ outcome }] =
    (await receiptStore(new Database(kv), day).list()).receipts;
  assert.equal(outcome, "ok");
});

Deno.test("the receipt tells the end of durable work that goes on for weeks", async () => {
  await using kv = await openTestKv();
  using work = new Work(kv);
  const receipts = receiptStore(new Database(kv), 90 * 86_400);
  await work.serve({ ...WANTED, OAUTH_LEDGER_DAYS: "90" }, async (server) => {
    await press(await open(server, (await work.begin(server))!), "approve");
    await work.sleeps(server);
    work.tick(20 * 86_400);
    assert.equal(await work.end(server), "archived");
  });
  const [{ begunAt, endedAt, outcome }] = (await receipts.list()).receipts;
  assert.equal(outcome, "ok");
  assert(endedAt! - begunAt! >= 20 * 86_400);
});

Deno.test("the receipt tells that durable work has begun, also if the process that got the press died before it wrote that", async () => {
  await using kv = await openTestKv();
  using work = new Work(kv);
  const receipts = receiptStore(new Database(kv), 86_400);
  await work.serve(WANTED, async (server) => {
    await press(await open(server, (await work.begin(server))!), "approve");
    await work.sleeps(server);
  });
  for (const name of ["wait", "receipt"]) {
    for await (const { key, value } of kv.list<Json>({ prefix: [name] })) {
      if (name === "wait") value.state = "answered";
      else delete value.begunAt;
      await kv.set(key, value);
    }
  }
  assert.equal((await receipts.list()).receipts[0].begunAt, undefined);
  await work.serve(WANTED, async (server) => {
    await until(async () => {
      work.tick(600);
      await work.read(server);
      return work.ran.length === 2;
    });
    const [{ begunAt, endedAt }] = (await receipts.list()).receipts;
    assert.notEqual(begunAt, undefined);
    assert.equal(endedAt, undefined);
  });
});

for (const answer of ["approve", "refuse"]) {
  Deno.test(`durable work that waits for its approval takes the answer (${answer}) once the operator wants none any more`, async () => {
    await using kv = await openTestKv();
    using work = new Work(kv);
    let link: string | undefined;
    await work.serve(WANTED, async (server) => {
      link = await work.begin(server);
    });
    await work.serve({}, async (server) => {
      await press(await open(server, link!), answer);
      const end = await work.end(server);
      const isDone = answer === "approve";
      assert.match(end, isDone ? /archived/ : /The person refused this/);
      assert.equal(work.ran.length, isDone ? 2 : 0);
    });
  });
}

/** Reads work until it asks for an approval other than the one known. */
async function nextLink(work: Work, server: OAuthServer, known?: string) {
  let link: string | undefined;
  await until(async () => {
    const { statusMessage = "" } = await work.read(server);
    [link] = /http\S*approve\S*/.exec(statusMessage) ?? [];
    return link !== undefined && link !== known;
  });
  return link!;
}

/** The settings before a change, and the release that brings the change. */
const LATER: Record<
  string,
  [before: Record<string, string>, release: Parameters<Work["serve"]>[2]]
> = {
  "a release": [WANTED, { title: "Archive everything" }],
  "another entry": [{ APPROVALS: "archive=caller+passkey" }, {}],
};

for (const version of [undefined, 2]) {
  for (const [name, [before, release]] of Object.entries(LATER)) {
    Deno.test(`durable work under way that asks before it goes on waits for a week, also after ${name}, from version ${version ?? 1}`, async () => {
      await using kv = await openTestKv();
      using work = new Work(kv);
      let first: string | undefined;
      await work.serve({}, async (server) => {
        assert.equal(await work.begin(server), undefined);
      });
      await work.serve(before, async (server) => {
        work.tick(3700);
        first = await nextLink(work, server);
      }, { version });
      await work.serve(WANTED, async (server) => {
        work.tick(2 * 86_400);
        const link = await nextLink(work, server, first);
        work.tick(6 * 86_400);
        await press(await open(server, link), "approve");
        assert.equal(await work.end(server), "archived");
        assert.equal(work.ran.at(-1), "second github:42");
      }, { version, ...release });
    });
  }
}
