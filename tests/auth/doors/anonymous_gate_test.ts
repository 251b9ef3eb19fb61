import assert from "node:assert/strict";
import type { Authenticated } from "../../../src/caller.ts";
import { anonymousGate, type Gate } from "../../../src/auth/doors/gate.ts";

const known: Authenticated = {
  caller: { subject: "ada", scopes: ["a"], binding: "ada" },
};
const gate: Gate = {
  authenticate: () => known,
  restore: () => known,
  challenge: () => "Bearer",
};

Deno.test("anonymousGate() lets in who presents nothing, without a scope", () => {
  for (const keyHeader of [undefined, "x-key"]) {
    const { caller } = anonymousGate(gate, { keyHeader })
      .authenticate(
        new Headers({ "x-other": "1", undefined: "1" }),
      ) as Authenticated;
    assert.deepEqual([caller.subject, caller.scopes], ["anonymous", []]);
    assert.equal("ceiling" in caller, false);
  }
  const { caller } = anonymousGate(gate, { ceiling: [] })
    .authenticate(new Headers()) as Authenticated;
  assert.deepEqual(caller.ceiling, []);
});

Deno.test("anonymousGate() leaves everyone who presents something to the gate", () => {
  const both = anonymousGate(gate, { keyHeader: "x-key" });
  for (const name of ["authorization", "x-key"]) {
    assert.equal(both.authenticate(new Headers({ [name]: "" })), known);
  }
  const { caller } = anonymousGate(gate)
    .authenticate(new Headers({ "x-key": "1" })) as Authenticated;
  assert.equal(caller.subject, "anonymous");
});
