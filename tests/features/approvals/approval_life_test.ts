/**
 * The whole life of an approval, from the call that asks to the end of its run,
 * with a fault at each of its operations on the database: two processes share
 * it, one of which dies, or is told nothing, there. At each operation:
 *
 *     deno test … tests/features/approvals/approval_life_test.ts -- 1
 */
import assert from "node:assert/strict";
import { receiptStore } from "../../../src/features/approvals/receipts.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { tool, z } from "../../../src/mod.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { messagesOf } from "../../kit/answer.ts";
import { type Arrival, browserOf } from "../../kit/browser.ts";
import { test } from "../../kit/databases.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import { Line } from "../../kit/faults.ts";
import type { Fault } from "../../kit/faulty_kv.ts";
import type { HeadersOf, Json } from "../../kit/message.ts";
import { BASE_URL, type Sender } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import { FORMS } from "./approving.ts";

const KINDS: readonly Fault[] = ["refuses", "forgets", "dies", "dies later"];

/** Lives at once, each of a person of its own. */
const LANES = 12;

/** Every n-th operation; the kinds begin at different ones. */
const STRIDE = Number(Deno.args[0] ?? 8);

/** The most operations of a life. */
const MOST = 300;

const env = {
  BASE_URL,
  AUTH_STRATEGY: "oauth",
  OAUTH_PROVIDER: "github",
  OAUTH_CLIENT_ID: "our-client",
  OAUTH_CLIENT_SECRET: "our-secret",
  CALLS_PER_MINUTE: "0",
};
const capabilities = { ...FORMS, ...TASKS };

interface Person {
  headers: HeadersOf;
  visitor: AccountVisitor;
}

interface Counts {
  lives: number;
  /** Lives after whose fault no one knows if the run has ended, and say so. */
  unknown: number;
  /** Tasks that ended with their process. */
  ended: number;
  twice: number;
  lost: number;
}

/** Sends a request, and repeats it while it is answered with 503. */
async function persistent<T extends { status: number }>(
  send: () => Promise<T>,
): Promise<T> {
  let answer!: T;
  await until(async () => (answer = await send()).status !== 503);
  return answer;
}

/** The end of a life, in words of its client. */
type Life = (
  at: { line: Line; server: OAuthServer; time?: MovedTime },
  id: string,
  person: Person,
) => Promise<string>;

/** Asks a server, again while it says that it has no storage. */
async function ask(
  at: Sender,
  method: string,
  params: Json,
  { headers }: Person,
  capabilities: Json,
): Promise<Json> {
  let result: Json;
  await until(async () => {
    const response = await at.call(method, params, { headers, capabilities });
    // A stream that ends with its process has no result.
    ({ result } = (await messagesOf(response)).at(-1) ?? {});
    return result && !/Send the request again/.test(result.content?.[0].text);
  });
  return result;
}

function call(at: Sender, id: string, name: string, person: Person) {
  const params = { name, arguments: { id } };
  const own = name === "wipe" ? FORMS : capabilities;
  return ask(at, "tools/call", params, person, own);
}

/** Opens the page of a link, and presses there until that has counted. */
async function press(line: Line, link: string, { visitor }: Person) {
  const browser = browserOf(line);
  for (const [name, value] of visitor.browser.cookies) {
    browser.cookies.set(name, value);
  }
  const open = () => persistent(() => browser.open(link));
  let page: Arrival = await open();
  const { pathname } = new URL(link);
  await until(async () => {
    if (!page.text.includes(`action="${pathname}"`)) return true;
    const form = formOf(page, pathname);
    const pressed = await browser.press(form, "answer", "approve");
    page = pressed.status === 503 ? await open() : pressed;
    return pressed.status !== 503;
  });
}

const lifeOfCall: Life = async ({ line, server }, id, person) => {
  const asked = await call(line, id, "wipe", person);
  const [link] = asked.content[0].text.match(/http\S*/);
  await press(line, link, person);
  const { content } = await call(line, id, "wipe", person);
  const text: string = content[0].text;
  if (text === "wiped" || !text.includes(link)) return text;
  // The other process knows it too.
  return (await call(server, id, "wipe", person)).content[0].text;
};

const lifeOfTask =
  (name: string): Life => async ({ line, time }, id, person) => {
    const { taskId } = await call(line, id, name, person);
    const wasDead = line.hasDied;
    const follow = async (isWanted: (task: Json) => boolean) => {
      let task: Json;
      await until(async () => {
        task = await ask(line, "tasks/get", { taskId }, person, capabilities);
        if (task.status !== "working" || isWanted(task)) return true;
        if (time && line.hasDied && line.running === 0) {
          time.tick(5);
          await line.wake();
        }
        // A plain task goes with its process.
        return name === "long" && line.hasDied && !wasDead;
      });
      return task;
    };
    const asked = await follow(({ statusMessage = "" }) =>
      /http/.test(statusMessage)
    );
    const [link] = /http\S*/.exec(asked.statusMessage ?? "") ?? [];
    if (link !== undefined) await press(line, link, person);
    const end = await follow(() => false);
    return end.result?.content[0].text ?? end.error?.message ?? "working";
  };

const LIVES: Record<string, Life> = {
  wipe: lifeOfCall,
  long: lifeOfTask("long"),
  durable: lifeOfTask("durable"),
};

for (const [name, life] of Object.entries(LIVES)) {
  test.onDatabases(
    `a fault at any operation in the life of an approval runs nothing twice and loses none · ${name}`,
    async ({ kv, other }) => {
      const runs = new Map<string, number>();
      const done = new Set<string>();
      const note = (id: string) => {
        runs.set(id, (runs.get(id) ?? 0) + 1);
        return "wiped";
      };
      const input = z.object({ id: z.string() });
      const approval = { expiresIn: 3600 };
      const tools = [
        tool({ name: "wipe", input, approval, run: ({ id }) => note(id) }),
        tool({
          name: "long",
          input,
          approval,
          task: "optional",
          run: ({ id }) => note(id),
        }),
        tool({
          name: "durable",
          input,
          approval,
          task: { durable: true },
          run: ({ id }, { step }) => step("wipe", () => note(id)),
        }),
      ];
      await using server = await startOAuthServer({
        kv,
        tools,
        environment: env,
      });
      const signIn = async (lane = 0): Promise<Person> => {
        const as = `${2000 + lane}`;
        server.provider.subject = as;
        const { headers } = await server.person();
        const visitor = await AccountVisitor.signIn(server, { as });
        return { headers, visitor };
      };
      const people: Person[] = [];
      for (let lane = 0; lane < LANES; lane++) people.push(await signIn(lane));
      const counts: Counts = {
        lives: 0,
        unknown: 0,
        ended: 0,
        twice: 0,
        lost: 0,
      };
      const walk = async (kind: Fault) => {
        let next = KINDS.indexOf(kind) % STRIDE + 1 - STRIDE;
        let isOver = false;
        // Dead durable work is taken over later: the clock of all is moved, so
        // there is one life at a time, and its person has a fresh token.
        const isMoved = name === "durable" && kind.startsWith("dies");
        using time = isMoved ? new MovedTime() : undefined;
        const lanes = isMoved ? people.slice(0, 1) : people;
        await Promise.all(lanes.map(async (own) => {
          while (!isOver) {
            const at = next += STRIDE;
            assert(at < MOST, "a life has an end");
            const id = `${kind} ${at}`;
            const person = time ? await signIn() : own;
            await using line = new Line(other, { tools, env }, { kind, at });
            let text: string;
            try {
              text = await life({ line, server, time }, id, person);
            } catch (cause) {
              throw new Error(`operation ${at} ${kind}`, { cause });
            }
            if (!line.faulty.hasFailed && !line.hasDied) isOver = true;
            counts.lives++;
            if (text === "wiped") done.add(id);
            const count = runs.get(id) ?? 0;
            if (count > 1) counts.twice++;
            if (/its end is not known|may have happened/.test(text)) {
              counts.unknown++;
            } else if (name === "long" && line.hasDied && text !== "wiped") {
              counts.ended++;
            } else if (count === 0) counts.lost++;
          }
        }));
      };
      for (const kind of KINDS) await walk(kind);
      console.log(JSON.stringify(counts));
      assert.equal([...runs.values()].filter((count) => count > 1).length, 0);
      assert.deepEqual([counts.twice, counts.lost], [0, 0]);
      assert(counts.lives > 20);
      // A receipt tells the end of each run that its client was told.
      const receipts = receiptStore(new Database(kv), 86_400);
      const endOf = new Map<string, unknown>();
      let before: string | undefined;
      do {
        const page = await receipts.list(undefined, undefined, before);
        for (const { facts, outcome } of page.receipts) {
          endOf.set(facts.id, outcome);
        }
        before = page.next;
      } while (before);
      const untold = [...done].filter((id) => endOf.get(id) !== "ok");
      assert.deepEqual(untold, []);
    },
    { sanitizeOps: false, sanitizeResources: false },
  );
}
