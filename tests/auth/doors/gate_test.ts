import assert from "node:assert/strict";
import { lateGate, openGate } from "../../../src/auth/doors/gate.ts";

Deno.test("lateGate() loads its gate with the first request, and once", async () => {
  let loads = 0;
  const gate = lateGate(() => {
    loads++;
    return Promise.resolve(openGate);
  });
  assert.equal(loads, 0);
  const expected = openGate.authenticate(new Headers());
  for (let request = 0; request < 3; request++) {
    assert.equal(await gate.authenticate(new Headers()), expected);
  }
  assert.equal(loads, 1);
});

Deno.test("lateGate() is one gate, however many requests are the first", async () => {
  const authenticated: string[] = [];
  let loads = 0;
  const gate = lateGate(() => {
    const name = `gate ${++loads}`;
    return Promise.resolve({
      ...openGate,
      authenticate: (headers) => {
        authenticated.push(name);
        return openGate.authenticate(headers);
      },
    });
  });
  await Promise.all(
    Array.from({ length: 3 }, () => gate.authenticate(new Headers())),
  );
  assert.deepEqual(new Set(authenticated), new Set(["gate 1"]));
});
