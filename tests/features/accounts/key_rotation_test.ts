/**
 * The key that seals people's keys, changed as docs/sealing.md says: two
 * processes are replaced one after the other while people call and connect.
 */
import assert from "node:assert/strict";
import { openRegister } from "../../../packages/operate/register.ts";
import { runCommand } from "../../../packages/operate/run_command.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { textOf } from "../../kit/answer.ts";
import {
  callBy,
  connect,
  openConnect,
  startConnected,
} from "../../kit/connected.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import {
  keyOf,
  KeyService,
  OTHER_SECRETS_KEY as NEW,
  SECRETS_KEY as OLD,
} from "../../kit/key_service.ts";
import { silentLogger } from "../../kit/log.ts";
import type { HeadersOf } from "../../kit/message.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";

const CALLERS = 8;

/** People who call again only after the rotation: the command is for them. */
const ABSENT = 4;

/** The calls that are answered before the next process is replaced. */
const CALLS = 100;

interface Person {
  name: string;
  headers: HeadersOf;
}

/** A process, and the calls that it has not answered yet. */
interface Member {
  server: OAuthServer;
  calls: number;
}

test.inMemory("keys are rotated under load, process by process, and no connection is lost", async ({ kv, other }) => {
  using time = new FakeTime();
  await using service = new KeyService();
  await using stack = new AsyncDisposableStack();
  const linear = service.key();
  const start = async (nth: number, keys: string[]): Promise<Member> => {
    const environment = {
      SECRETS_KEYS: keys.join(),
      CALLS_PER_MINUTE: "0",
    };
    const options = { kv: nth === 0 ? kv : other, environment };
    return {
      server: stack.use(await startConnected(linear, options)),
      calls: 0,
    };
  };
  const members = [await start(0, [OLD]), await start(1, [OLD])];

  let joined = 0;
  /** Signs someone in who connects their account, at one of the processes. */
  async function join({ server }: Member): Promise<Person> {
    const name = `person${joined++}`;
    service.accounts.set(keyOf(name), name);
    await connect(await openConnect(server, { as: name }), keyOf(name));
    return { name, headers: (await server.person()).headers };
  }
  const people: Person[] = [];
  for (let n = 0; n < CALLERS; n++) people.push(await join(members[n % 2]));
  const absent: Person[] = [];
  for (let n = 0; n < ABSENT; n++) absent.push(await join(members[n % 2]));

  let isOver = false;
  let answered = 0;
  const lost: string[] = [];
  async function callAs(
    member: Member,
    { name, headers }: Person,
  ): Promise<void> {
    member.calls++;
    const call = await callBy(member.server, "2026", headers);
    const text = await textOf(call("who"));
    member.calls--;
    if (text !== `200 ${name}`) lost.push(text);
    answered++;
  }
  const load = Array.from({ length: CALLERS }, async (_, first) => {
    for (let n = first; !isOver; n++) {
      await callAs(members[n % 2], people[n % people.length]);
    }
  });
  async function callOn(): Promise<void> {
    const before = answered;
    // From then on each use is noted once more, with the key sealed anew.
    time.tick(60);
    await until(() => answered >= before + CALLS);
  }
  /** Gives both processes other keys, one after the other. */
  async function roll(...keys: string[]): Promise<void> {
    for (const nth of [0, 1]) {
      const before = members[nth];
      members[nth] = await start(nth, keys);
      await until(() => before.calls === 0);
      await before.server.app.close();
      people.push(await join(members[nth]));
      await callOn();
    }
  }
  async function reseal(...keys: string[]): Promise<string> {
    const register = openRegister(new Database(kv), silentLogger);
    const text = await runCommand(["people", "reseal"], {
      register,
      log: silentLogger,
      by: "ops",
      readSecretsKeys: () => keys,
    });
    await register.close();
    return text;
  }

  await callOn();
  // With the new key alone it opens nothing, and says so.
  assert.match(await reseal(NEW), /^0 of (\d+) accounts .* left .*: \1$/);
  await roll(OLD, NEW);
  await roll(NEW, OLD);
  // A key that is used meanwhile may be changed by another process, and is left.
  await until(async () => / left .*: 0$/.test(await reseal(NEW, OLD)));
  await roll(NEW);
  isOver = true;
  await Promise.all(load);
  for (const person of absent) await callAs(members[0], person);
  assert.deepEqual(lost, [], `of ${answered}`);
});
