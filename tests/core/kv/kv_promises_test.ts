/**
 * The contract of the database: Deno's databases and the one in memory keep it,
 * and each of seven naive ones breaks the promise it is naive about.
 *
 * @module
 */
import assert from "node:assert/strict";
import {
  type KvHandles,
  kvPromises,
} from "../../../packages/testing/kv/mod.ts";
import { deleteExpiredRecords } from "../../../src/core/process/file_collection.ts";
import { KvClosedError, kvErrorOf } from "../../../src/core/kv/kv_error.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { ACCESS_TOKEN, Denokv, findDenokv } from "../../kit/denokv.ts";
import { TemporaryDirectory } from "../../kit/process.ts";
import { NAIVE } from "./naive_kv.ts";

/** Opens two handles on an empty database, for as long as the stack is open. */
type Open = (stack: AsyncDisposableStack) => Promise<KvHandles>;

/** Closes a handle, unless a check has. */
function close(kv: Deno.Kv): void {
  try {
    kv.close();
  } catch (error) {
    if (!(kvErrorOf(error) instanceof KvClosedError)) throw error;
  }
}

async function openTwice(
  stack: AsyncDisposableStack,
  path: string,
  open = Deno.openKv,
): Promise<{ kv: Deno.Kv; other: Deno.Kv }> {
  const [kv, other] = [await open(path), await open(path)];
  for (const handle of [kv, other]) stack.defer(() => close(handle));
  return { kv, other };
}

const DATABASES: Record<string, Open> = {
  "Deno KV in memory": async (stack) => {
    const kv = await Deno.openKv(":memory:");
    stack.defer(() => close(kv));
    return { kv, other: kv };
  },
  "Deno KV on a file": async (stack) => {
    const { path } = stack.use(new TemporaryDirectory());
    return await openTwice(stack, `${path}/test.db`);
  },
  "the server's handle on a file": async (stack) => {
    const { path } = stack.use(new TemporaryDirectory());
    return await openTwice(stack, `${path}/test.db`, async (path) => {
      const kv = await Deno.openKv(path);
      deleteExpiredRecords(kv, path!, 1);
      return kv;
    });
  },
  "memoryKv()": (stack) => {
    const kv = memoryKv();
    stack.defer(() => close(kv));
    return Promise.resolve({ kv, other: kv });
  },
};

for (const [name, open] of Object.entries(DATABASES)) {
  for (const { name: promise, check } of kvPromises) {
    Deno.test(`${name}: ${promise}`, async () => {
      await using stack = new AsyncDisposableStack();
      await check(await open(stack));
    });
  }
}

const program = await findDenokv();

Deno.test({
  name: program
    ? "denokv keeps every promise"
    : "denokv keeps every promise, left out: none is here, and `deno task test remote` builds one",
  ignore: program === undefined,
  async fn(t) {
    Deno.env.set("DENO_KV_ACCESS_TOKEN", ACCESS_TOKEN);
    for (const { name, check } of kvPromises) {
      await t.step(name, async () => {
        await using denokv = await Denokv.start(program!);
        await using stack = new AsyncDisposableStack();
        const handles = await openTwice(stack, denokv.url);
        for (const handle of Object.values(handles)) {
          Object.assign(handle, { isRemote: true });
        }
        await check(handles);
      });
    }
  },
});

for (const [naivety, { make, breaks }] of Object.entries(NAIVE)) {
  Deno.test(`a database with ${naivety} breaks a promise: ${breaks}`, async () => {
    const { check } = kvPromises.find(({ name }) => name === breaks)!;
    const kv = make();
    await assert.rejects(check({ kv, other: kv }), { name: "AssertionError" });
  });
}
