import assert from "node:assert/strict";
import { clientConnectionStore } from "../../../src/core/store/connections.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { grantStore } from "../../../src/core/store/grants.ts";
import { test } from "../../kit/databases.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";
import { newClient, signIn } from "../../kit/records.ts";

function connectionsOf(kv: Deno.Kv) {
  const database = new Database(kv);
  return clientConnectionStore(database, grantStore(database));
}

/** Makes a handle like `kv`; `between` happens before or after its nth commit. */
function interrupted(
  kv: Deno.Kv,
  { before, after }: { before?: number; after?: number },
  between: () => Promise<unknown>,
): Deno.Kv {
  let commits = 0;
  return kvWith(kv, {
    atomic: atomicWith(kv, async (commit) => {
      const nth = ++commits;
      if (nth === before) await between();
      const result = await commit();
      if (nth === after) await between();
      return result;
    }),
  });
}

for (
  const [what, first, second] of [
    ["a resume that comes between", 100, undefined],
    ["a pause that comes between", undefined, 100],
  ] as const
) {
  test.onDatabases(`pause() leaves no sign-in behind ${what}, for any of them`, async ({ kv, other }) => {
    const client = newClient();
    const [one, two] = [
      await signIn(kv, { client }),
      await signIn(kv, { client }),
    ];
    const of = one.grant;
    const others = connectionsOf(other);
    // The connection's record is written first, then one sign-in, then both.
    // After the first commit the sign-ins are read as the other left them.
    for (
      const at of [{ before: 1 }, { after: 1 }, { before: 2 }, { before: 3 }]
    ) {
      await others.pause(of, second);
      const slow = interrupted(kv, at, () => others.pause(of, second));
      await connectionsOf(slow).pause(of, first);
      const { state, open } = await others.read(of);
      const holds = at.before === 1 ? first : second;
      assert.equal(state.pausedAt, holds);
      assert.deepEqual(open.map(({ value }) => value.pausedAt), [holds, holds]);
    }
    assert.notEqual(one.grant.id, two.grant.id);
  });
}
