import assert from "node:assert/strict";
import {
  isRevision,
  isSessionRevision,
  negotiateRevision,
  REVISIONS,
} from "../../../src/mcp/wire/revisions.ts";

Deno.test("REVISIONS lists the four that are offered", () => {
  assert.deepEqual(REVISIONS, [
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
  ]);
});

Deno.test("isRevision() knows those, and the one that is spoken without being offered", () => {
  for (const name of [...REVISIONS, "2024-11-05"]) assert.ok(isRevision(name));
  for (const name of ["2024-10-07", "", null, 2025]) {
    assert.ok(!isRevision(name));
  }
});

Deno.test("isSessionRevision() leaves out the stateless one", () => {
  assert.ok(isSessionRevision("2025-03-26"));
  assert.ok(isSessionRevision("2025-11-25"));
  assert.ok(!isSessionRevision("2026-07-28"));
  assert.ok(isSessionRevision("2024-11-05"));
});

Deno.test("negotiateRevision() gives what was asked for if it has sessions", () => {
  for (const name of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
    assert.equal(negotiateRevision(name), name);
  }
});

Deno.test("negotiateRevision() gives the latest with sessions for all others", () => {
  for (const name of ["2024-10-07", "2026-07-28", "2099-01-01", "x"]) {
    assert.equal(negotiateRevision(name), "2025-11-25");
  }
});
