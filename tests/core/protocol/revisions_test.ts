import assert from "node:assert/strict";
import {
  isRevision,
  isSessionRevision,
  REVISIONS,
} from "../../../src/core/protocol/revisions.ts";

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
