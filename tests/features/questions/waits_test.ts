import assert from "node:assert/strict";
import { fingerprint } from "../../../src/core/crypto/crypto.ts";
import {
  ChallengeError,
  HttpError,
  LimitError,
  StorageError,
} from "../../../src/core/errors.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { setGrant } from "../../../src/core/store/grants.ts";
import type { Grant } from "../../../src/core/oauth/grant.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import {
  MAX_WAITS_PER_CLIENT,
  type Waiting,
  waitStore,
} from "../../../src/features/questions/waits.ts";
import {
  listOfWaits,
  wakeStore,
} from "../../../src/features/work/run_record.ts";
import { MAX_WAIT_BYTES } from "../../../src/features/questions/wait_record.ts";
import { countedOn, fiftyAtOnce, test } from "../../kit/databases.ts";
import { CountingKv } from "../../kit/counting_kv.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { kvThrough } from "../../kit/kv.ts";
import { overtaken } from "../../kit/overtaken_kv.ts";
import { within } from "../../kit/wait.ts";

const ADA = "github:1";
const ASKED: Waiting = {
  subject: ADA,
  kind: "page",
  asker: "a call",
  question: "a question",
  tool: "pay",
};
const PAYLOAD = { message: "Pay", url: "https://pay.example.com" };
const YES = { action: "accept" };
const NO = { action: "decline" };
const nothing = () => {};

test.onDatabases("open() finds the wait that an asker has, and asks another question anew", async ({ kv, other }) => {
  const waits = waitStore(new Database(kv));
  const first = await waits.open(ASKED, PAYLOAD);
  const again = await waitStore(new Database(other)).open(ASKED, PAYLOAD);
  assert.deepEqual(again, first);
  assert.deepEqual([first.state, first.payload], ["open", PAYLOAD]);
  const next = await waits.open({ ...ASKED, question: "another" }, PAYLOAD);
  assert.notEqual(next.id, first.id);
  assert.equal(await waits.find(first.id!, ADA), undefined);
  assert.deepEqual(await waits.listOf(ADA), [next]);
});

test.inMemory("find() and open() fail while the secret of waits cannot be read, and lose no wait", async ({ kv }) => {
  const { id } = await waitStore(new Database(kv)).open(ASKED, PAYLOAD);
  let isAway = true;
  const away = kvThrough(kv, (operation, key) => {
    if (isAway && key?.[0] === "secret") throw new Error("connection reset");
    return operation();
  });
  const waits = waitStore(new Database(away));
  await assert.rejects(waits.find(id!, ADA), StorageError);
  await assert.rejects(waits.open(ASKED, PAYLOAD), StorageError);
  isAway = false;
  assert.equal((await waits.open(ASKED, PAYLOAD)).id, id);
});

test.onDatabases("open() gives fifty simultaneous calls one wait", async ({ kv, other }) => {
  const opened = await fiftyAtOnce(
    kv,
    other,
    waitStore,
    (waits) => waits.open(ASKED, PAYLOAD),
  );
  assert.equal(new Set(opened.map(({ id }) => id)).size, 1);
  assert.equal((await waitStore(new Database(kv)).listKept(ADA)).length, 1);
});

test.onDatabases("open() opens no more than the most of fifty at once", async ({ kv, other }) => {
  const opened = await fiftyAtOnce(
    kv,
    other,
    waitStore,
    (waits, index) =>
      waits.open({ ...ASKED, asker: `call ${index}` }, PAYLOAD, { most: 5 })
        .catch((error) => error),
  );
  const refused = opened.filter((it) => it instanceof LimitError);
  assert.equal(refused.length, 45);
  assert.equal((await waitStore(new Database(kv)).listKept(ADA)).length, 5);
});

test.onDatabases("answer() lets the first of fifty count, and tells it to all", async ({ kv, other }) => {
  const { id } = await waitStore(new Database(kv)).open(ASKED, PAYLOAD);
  const answered = await fiftyAtOnce(
    kv,
    other,
    waitStore,
    (waits, index) => waits.answer(id!, ADA, { index }, nothing),
  );
  const told = new Set(answered.map((wait) => JSON.stringify(wait!.answer)));
  assert.equal(told.size, 1);
});

test.onDatabases("take() gives an answer to one of fifty", async ({ kv, other }) => {
  const waits = waitStore(new Database(kv));
  const wait = await waits.open(ASKED, PAYLOAD);
  assert.equal(await waits.take(wait), undefined);
  await waits.answer(wait.id!, ADA, YES, nothing);
  const taken = await fiftyAtOnce(
    kv,
    other,
    waitStore,
    (waits) => waits.take(wait),
  );
  assert.deepEqual(taken.filter((it) => it).map((it) => it!.answer), [YES]);
  assert.equal((await waits.find(wait.id!, ADA))?.state, "used");
  assert.notEqual((await waits.open(ASKED, PAYLOAD)).id, wait.id);
});

test.onDatabases("release() puts an answer back for the next run, unless its asker has another or it was erased", async ({ kv }) => {
  const waits = waitStore(new Database(kv));
  const answered = async (asker: string) => {
    const wait = await waits.open({ ...ASKED, asker }, PAYLOAD);
    await waits.answer(wait.id!, ADA, YES, nothing);
    return { wait, taken: (await waits.take(wait))! };
  };
  const { wait, taken } = await answered("one");
  assert.equal(await taken.release(), true);
  assert.equal(await taken.release(), false);
  const back = await waits.open({ ...ASKED, asker: "one" }, PAYLOAD);
  assert.deepEqual([back.id, back.state], [wait.id, "answered"]);
  const two = await answered("two");
  await waits.open({ ...ASKED, asker: "two" }, PAYLOAD);
  assert.equal(await two.taken.release(), false);
  const three = await answered("three");
  await waits.forgetAllOf(ADA);
  assert.equal(await three.taken.release(), false);
  assert.deepEqual(await waits.listKept(ADA), []);
});

test.inMemory("answer() and find() know a wait's own person and kind only", async ({ kv }) => {
  const waits = waitStore(new Database(kv));
  const page = await waits.open(ASKED, PAYLOAD);
  assert.equal(await waits.find(page.id!, "github:2"), undefined);
  assert.equal(
    await waits.answer(page.id!, "github:2", YES, nothing),
    undefined,
  );
  assert.equal(await waits.answerWebhook(page.id!, YES), false);
  const webhook = await waits.open(
    { ...ASKED, kind: "webhook", asker: "a task" },
    PAYLOAD,
  );
  assert.equal(await waits.answer(webhook.id!, ADA, YES, nothing), undefined);
  assert.equal(await waits.find(webhook.id!, ADA), undefined);
  assert.deepEqual(await waits.listOf(ADA), [page]);
  // As it may come in the JSON of a request.
  assert.equal(await waits.answerWebhook([webhook.id!], YES), false);
  assert.equal(await waits.answerWebhook(webhook.id!, YES), true);
  assert.equal(await waits.answerWebhook(webhook.id!, NO), false);
  assert.deepEqual(await waits.close(webhook), { data: YES });
});

test.inMemory("answer() commits nothing when what it rests on has changed", async ({ kv }) => {
  const database = new Database(kv);
  const waits = waitStore(database);
  const { id } = await waits.open(ASKED, PAYLOAD);
  const answered = await waits.answer(
    id!,
    ADA,
    YES,
    (transaction) =>
      transaction.check({
        key: ["gone"],
        versionstamp: "00000000000000010000",
      }),
  );
  assert.equal(answered, undefined);
  assert.equal((await waits.find(id!, ADA))?.state, "open");
});

test.inMemory("open() refuses a person who has too many, and what is too long", async ({ kv }) => {
  const waits = waitStore(new Database(kv));
  for (let index = 0; index < 100; index++) {
    const clientId = `client ${index % 4}`;
    await waits.open({ ...ASKED, clientId, asker: `${index}` }, PAYLOAD);
  }
  await assert.rejects(
    waits.open(ASKED, PAYLOAD),
    (error) =>
      error instanceof LimitError &&
      /questions wait for this person/.test(error.message),
  );
  await waits.open({ ...ASKED, subject: "github:2" }, PAYLOAD);
  // Durable work is another matter: it may wait for days.
  await waits.open({ ...ASKED, kind: "webhook", asker: "a task" }, PAYLOAD);
  const bob = { ...ASKED, subject: "github:2" };
  const sized = (characters: number) => ({
    message: "a".repeat(characters - '{"message":""}'.length),
  });
  await waits.open({ ...bob, asker: "long" }, sized(20_000));
  await assert.rejects(waits.open(bob, sized(20_001)), TypeError);
});

test.inMemory("open() refuses a client that uses up the room of a person, and leaves it to others", async ({ kv }) => {
  const database = new Database(kv);
  const waits = waitStore(database);
  const grant = grantOf(database, "g1");
  await database.commit((transaction) => setGrant(transaction, grant));
  const greedy = { ...ASKED, clientId: "greedy" };
  const token = { ...ASKED, clientId: undefined, grantId: grant.id };
  for (const waiting of [greedy, token]) {
    for (let index = 0; index < MAX_WAITS_PER_CLIENT; index++) {
      const asker = JSON.stringify([waiting.clientId, index]);
      await waits.open({ ...waiting, asker }, PAYLOAD);
    }
    await assert.rejects(waits.open(waiting, PAYLOAD), LimitError);
  }
  await waits.open({ ...ASKED, clientId: "another" }, PAYLOAD);
});

test.inMemory("open() counts no question whose answer was taken", async ({ kv }) => {
  const waits = waitStore(new Database(kv));
  for (let n = 0; n <= MAX_WAITS_PER_CLIENT; n++) {
    const wait = await waits.open({ ...ASKED, asker: `call ${n}` }, PAYLOAD);
    await waits.answer(wait.id!, ADA, YES, nothing);
    assert(await waits.take(wait));
  }
});

test.onDatabases("open() counts callers who share a subject by their own lists", async ({ kv, other }) => {
  const waits = waitStore(new Database(kv));
  const open = (list: string, asker: string) =>
    waits.open(
      { ...ASKED, subject: "anonymous", kind: "webhook", list, asker },
      PAYLOAD,
      { most: 2 },
    );
  await open("network 1", "a");
  await open("network 1", "b");
  await assert.rejects(open("network 1", "c"), LimitError);
  const wait = await open("network 2", "d");
  // Its end makes room there again.
  await open("network 2", "e");
  await waitStore(new Database(other)).withdraw(wait);
  await open("network 2", "f");
});

test.inMemory("open() reads a list that was full no second time within a second, and finds what is open all the same", async ({ kv }) => {
  using time = new FakeTime();
  const counting = new CountingKv(kv);
  const waits = waitStore(new Database(counting.kv));
  const open = (asker: string) =>
    counting.measure(() =>
      waits.open({ ...ASKED, kind: "webhook", asker }, PAYLOAD, { most: 250 })
        .catch((error) => error)
    );
  const [first] = await Promise.all(
    Array.from({ length: 250 }, (_, n) => open(`${n}`)),
  );
  const refused = await open("more");
  assert(refused.value instanceof LimitError);
  const again = await open("even more");
  assert(again.value instanceof LimitError);
  // The head and the place of its asker are read, and not the list.
  assert.deepEqual([refused.operations, again.operations], [3, 2]);
  assert.deepEqual((await open("0")).value, first.value);
  await waits.withdraw(first.value);
  time.tick(1);
  assert(!((await open("more")).value instanceof LimitError));
});

test.inMemory("open() commits once for each of fifty waits of one list at once in a process", async ({ kv }) => {
  const { place, database } = countedOn(kv);
  const waits = waitStore(database);
  const opened = Array.from({ length: 50 }, (_, index) =>
    waits.open(
      { ...ASKED, kind: "webhook", asker: `${index}` },
      PAYLOAD,
    ));
  await Promise.all(opened);
  // One makes the key that seals them.
  assert.equal(place.commits, 51);
});

Deno.test("listOfWaits() gives no person the list of many who share a subject", () => {
  const subject = "unknown";
  const limitKey = { name: subject, isMany: true };
  const caller = { subject, scopes: [], binding: subject };
  assert.notEqual(
    listOfWaits({ caller, limitKey }),
    listOfWaits({ caller }),
  );
});

test.onDatabases("a wait has room for a question and an answer of so many bytes, in any script, and refuses longer ones", async ({ kv }) => {
  const waits = waitStore(new Database(kv));
  const payload = (bytes: number) => ({ message: "a".repeat(bytes - 14) });
  await assert.rejects(
    waits.open(ASKED, payload(MAX_WAIT_BYTES + 1)),
    /A question must have at most 20000 bytes of JSON/,
  );
  const { id } = await waits.open(
    { ...ASKED, kind: "webhook" },
    payload(MAX_WAIT_BYTES),
  );
  await assert.rejects(
    waits.answerWebhook(id!, undefined),
    /An answer must be JSON/,
  );
  await assert.rejects(
    waits.answerWebhook(id!, "字".repeat(15_900)),
    /An answer must have at most 20000 bytes of JSON, and has 47702/,
  );
  await assert.rejects(
    waits.answerWebhook(id!, "字".repeat(6666) + "a"),
    (error) => error instanceof HttpError && error.status === 413,
  );
  assert.equal(await waits.answerWebhook(id!, "字".repeat(6666)), true);
});

test.inMemory("an answered page waits for no one any more, and not longer than it did", async ({ kv }) => {
  const waits = waitStore(new Database(kv));
  const { id, expiresAt } = await waits.open(ASKED, PAYLOAD);
  const answered = await waits.answer(id!, ADA, YES, nothing);
  assert.equal(answered?.expiresAt, expiresAt);
  assert.deepEqual(await waits.listOf(ADA), []);
});

test.onDatabases("close() takes no answer from then on, and gives the one that was faster", async ({ kv, other }) => {
  const waits = waitStore(new Database(kv));
  const webhook = { ...ASKED, kind: "webhook" } as const;
  const late = await waits.open({ ...webhook, asker: "late" }, PAYLOAD);
  assert.equal(await waits.close(late), undefined);
  assert.equal(await waits.answerWebhook(late.id!, NO), false);
  assert.equal(await waits.close(late), null);
  const early = await waits.open({ ...webhook, asker: "early" }, PAYLOAD);
  const slow = overtaken(other, () => waits.answerWebhook(early.id!, YES));
  const closed = await waitStore(new Database(slow)).close(early);
  assert.deepEqual(closed, { data: YES });
});

test.inMemory("withdraw() of a used wait leaves its asker to the next", async ({ kv }) => {
  const waits = waitStore(new Database(kv));
  const first = await waits.open(ASKED, PAYLOAD);
  await waits.answer(first.id!, ADA, YES, nothing);
  await waits.take(first);
  const next = await waits.open(ASKED, PAYLOAD);
  await waits.withdraw(first);
  assert.deepEqual(await waits.findByAsker(ASKED), next);
});

test.inMemory("open() takes no used wait for the one of its asker, though it was read before", async ({ kv }) => {
  const waits = waitStore(new Database(kv));
  const used = await waits.open(ASKED, PAYLOAD);
  const [place] = await Array.fromAsync(kv.list({ prefix: ["wait-of-asker"] }));
  await waits.answer(used.id!, ADA, YES, nothing);
  await waits.take(used);
  // As a process has it that read the place before the answer was taken.
  await kv.set(place.key, place.value);
  const next = await waits.open(ASKED, PAYLOAD);
  assert.deepEqual([next.state, next.payload], ["open", PAYLOAD]);
});

function grantOf(database: Database, id: string): Grant {
  return {
    id,
    subject: ADA,
    identity: { subject: "1" },
    clientId: "c",
    clientName: "App",
    scopes: [],
    status: "active",
    createdAt: database.now(),
    usedAt: database.now(),
    endsAt: database.now() + 1e6,
    expiresAt: database.now() + 1e6,
  } as unknown as Grant;
}

test.onDatabases("the wait for a webhook outlives the grant of its call as long as another uses its task", async ({ kv }) => {
  const database = new Database(kv);
  const waits = waitStore(database);
  const tasks = taskStore(database);
  const [first, second] = ["g1", "g2"].map((id) => grantOf(database, id));
  for (const grant of [first, second]) {
    await database.commit((transaction) => setGrant(transaction, grant));
  }
  const end = (grant: Grant) =>
    database.commit((transaction) =>
      setGrant(transaction, { ...grant, status: "closed" })
    );
  const caller = { subject: ADA, scopes: "all", binding: "ada" } as const;
  const run = { tool: "pay", scopes: [], keep: 60, address: "" };
  await tasks.createDurable(
    "t",
    { ...run, caller: { ...caller, grantId: "g1" } },
    {
      input: {},
      client: { capabilities: {}, revision: "2026-07-28" },
      meta: {},
    },
    caller.binding,
  );
  const webhook = {
    ...ASKED,
    kind: "webhook",
    grantId: "g1",
    taskId: "t",
  } as const;
  const early = await waits.open({ ...webhook, asker: "early" }, PAYLOAD);
  await tasks.use("t", { binding: "ada", grantId: "g2" });
  await end(first);
  assert.equal(await waits.answerWebhook(early.id!, 1), true);
  const other = await waits.open({ ...webhook, asker: "other" }, PAYLOAD);
  await end(second);
  assert.equal(other.state, "open");
  await assert.rejects(
    waits.open({ ...webhook, asker: "none" }, PAYLOAD),
    ChallengeError,
  );
});

test.inMemory("a wait ends with its time, with the grant of its call, and with the work of its task", async ({ kv }) => {
  using time = new FakeTime();
  const database = new Database(kv);
  const waits = waitStore(database);
  const grant = grantOf(database, "g1");
  const asked = { ...ASKED, grantId: "g1" };
  await assert.rejects(waits.open(asked, PAYLOAD), ChallengeError);
  await database.commit((transaction) => setGrant(transaction, grant));
  const wait = await waits.open(asked, PAYLOAD);
  assert.equal(wait.clientName, "App");
  assert.deepEqual(await waits.listOf(ADA), [wait]);
  // A task may go on with another grant of the same person.
  await kv.set(["task-run", "t1"], { expiresAt: grant.expiresAt });
  const webhook = await waits.open(
    { ...asked, kind: "webhook", asker: "a task", taskId: "t1" },
    PAYLOAD,
  );
  await database.commit((transaction) =>
    setGrant(transaction, { ...grant, status: "closed" })
  );
  const late = await waits.open(
    { ...ASKED, kind: "webhook", asker: "its end", taskId: "t1" },
    PAYLOAD,
  );
  assert.equal(await waits.answerWebhook(webhook.id!, YES), true);
  await kv.delete(["task-run", "t1"]);
  assert.equal(await waits.answerWebhook(late.id!, YES), false);
  const over = {
    ...ASKED,
    kind: "webhook",
    asker: "over",
    taskId: "t1",
  } as const;
  await assert.rejects(waits.open(over, PAYLOAD), /The task has ended/);
  await assert.rejects(
    waits.open({ ...over, grantId: "g1" }, PAYLOAD),
    ChallengeError,
  );
  assert.deepEqual(await waits.listOf(ADA), []);
  assert.equal(await waits.find(wait.id!, ADA), undefined);
  assert.equal(await waits.answer(wait.id!, ADA, YES, nothing), undefined);
  const short = await waits.open(ASKED, PAYLOAD);
  time.tick(3600);
  assert.equal(await waits.find(short.id!, ADA), undefined);
  assert.equal(await waits.answer(short.id!, ADA, YES, nothing), undefined);
});

test.inMemory("open() asks anew where a wait has ended with its grant", async ({ kv }) => {
  const database = new Database(kv);
  const waits = waitStore(database);
  const [first, second] = ["g1", "g2"].map((id) => grantOf(database, id));
  for (const grant of [first, second]) {
    await database.commit((transaction) => setGrant(transaction, grant));
  }
  await waits.open({ ...ASKED, grantId: "g1" }, PAYLOAD);
  await database.commit((transaction) =>
    setGrant(transaction, { ...first, status: "closed" })
  );
  const next = await waits.open({ ...ASKED, grantId: "g2" }, PAYLOAD);
  assert.deepEqual(await waits.find(next.id!, ADA), next);
});

test.onDatabases("open() keeps nothing when its grant or its task ends as it commits", async ({ kv, other }) => {
  const database = new Database(kv);
  const waits = waitStore(database);
  const grant = grantOf(database, "g1");
  await database.commit((transaction) => setGrant(transaction, grant));
  await kv.set(["task-run", "t1"], { expiresAt: grant.expiresAt });
  const asked = { ...ASKED, grantId: "g1" };
  await waits.withdraw(await waits.open(asked, PAYLOAD));
  const overtakenBy = (first: () => Promise<unknown>) =>
    waitStore(new Database(overtaken(other, first)));
  await assert.rejects(
    overtakenBy(() => kv.delete(["task-run", "t1"]))
      .open({ ...asked, kind: "webhook", taskId: "t1" }, PAYLOAD),
    /The task has ended/,
  );
  await assert.rejects(
    overtakenBy(() =>
      database.commit((transaction) =>
        setGrant(transaction, { ...grant, status: "closed" })
      )
    ).open(asked, PAYLOAD),
    ChallengeError,
  );
  assert.deepEqual(await waits.listKept(ADA), []);
});

test.inMemory("settled() is told by another process, and that nothing has come in time", async ({ kv }) => {
  const waits = waitStore(new Database(kv));
  const wait = await waits.open(ASKED, PAYLOAD);
  const { signal } = new AbortController();
  assert.equal(await waits.settled(wait, signal, 0), false);
  const settled = waits.settled(wait, signal);
  await waitStore(new Database(kv)).answer(wait.id!, ADA, YES, nothing);
  assert.equal(await within(10, settled), true);
  await waits.withdraw(wait);
  assert.equal(await within(10, waits.settled(wait, signal)), true);
});

test.inMemory("no row of a wait opens under another's name, and none says what is asked", async ({ kv }) => {
  const waits = waitStore(new Database(kv));
  const own = await waits.open(ASKED, PAYLOAD);
  const other = await waits.open({ ...ASKED, subject: "github:2" }, {
    message: "Secret",
    url: "https://evil.example.com",
  });
  for await (const { value } of kv.list({ prefix: [] })) {
    const text = JSON.stringify(value);
    for (const word of ["Secret", "evil", other.id!]) {
      assert.equal(text.includes(word), false, text);
    }
  }
  const [one, two] = await kv.getMany<
    [Record<string, unknown>, Record<string, unknown>]
  >([["wait", fingerprint(own.id!)], ["wait", fingerprint(other.id!)]]);
  await kv.set(one.key, { ...one.value, sealed: two.value!.sealed });
  assert.equal(await waits.find(own.id!, ADA), undefined);
  // All of the other's row, moved to this person's.
  await kv.set(one.key, { ...two.value, subject: ADA });
  assert.equal(await waits.find(own.id!, ADA), undefined);
});

for (
  const [member, change] of Object.entries({
    subject: { subject: "github:2" },
    kind: { kind: "page" },
    place: { askerKey: ["wait-of-asker", "another"] },
    // The sealed question, moved to the place of its answer.
    part: { state: "answered" },
    row: {},
  })
) {
  test.inMemory(`what is asked opens in no row with another ${member}`, async ({ kv }) => {
    const waits = waitStore(new Database(kv));
    const asked = { ...ASKED, kind: "webhook" } as const;
    const { id } = await waits.open(member === "kind" ? asked : ASKED, PAYLOAD);
    const key = ["wait", fingerprint(id!)];
    const { value } = await kv.get<Record<string, unknown>>(key);
    const moved = member === "row" ? "b".repeat(43) : id!;
    await kv.set(["wait", fingerprint(moved)], {
      ...value,
      ...change,
      ...member === "part" && { sealedAnswer: value!.sealed },
    });
    const subject = member === "subject" ? "github:2" : ADA;
    assert.equal(await waits.find(moved, subject), undefined);
  });
}

test.onDatabases("forgetAllOf() leaves nothing of a person's waits", async ({ kv }) => {
  const database = new Database(kv);
  const waits = waitStore(database);
  await waits.open(ASKED, PAYLOAD);
  const used = await waits.open({ ...ASKED, asker: "used" }, PAYLOAD);
  await waits.answer(used.id!, ADA, YES, nothing);
  await waits.take(used);
  await waits.forgetAllOf(ADA);
  for (const prefix of ["wait", "wait-of", "wait-of-asker"]) {
    assert.deepEqual(await database.list([prefix]), []);
  }
});

test.onDatabases("answer() of a page leaves its task to the process that waits in it, and listOf() names the task", async ({ kv, other }) => {
  const waits = waitStore(new Database(kv));
  const { id } = await waits.open({ ...ASKED, pageTask: "t" }, PAYLOAD);
  const [listed] = await waitStore(new Database(other)).listOf(ADA);
  assert.equal(listed.pageTask, "t");
  await waits.answer(id!, ADA, YES, nothing);
  const always = Number.MAX_SAFE_INTEGER - 1;
  const wakes = await wakeStore(new Database(other)).due(10, [""], always);
  assert.deepEqual(wakes, []);
});
