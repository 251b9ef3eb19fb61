import assert from "node:assert/strict";
import { isCsrf, mintCsrf } from "../../src/http/csrf.ts";

Deno.test("mintCsrf() gives each rendering its own token, all good for the session", () => {
  const [one, two] = [mintCsrf("session"), mintCsrf("session")];
  assert.notEqual(one, two);
  assert.ok(isCsrf(one, "session"));
  assert.ok(isCsrf(two, "session"));
});

Deno.test("isCsrf() refuses what was not minted for this session", () => {
  const token = mintCsrf("session");
  const [nonce, bound] = token.split(".");
  for (const other of ["", ".", nonce, `${nonce}.`, `.${bound}`, `x${token}`]) {
    assert.equal(isCsrf(other, "session"), false, other);
  }
  assert.equal(isCsrf(token, "another session"), false);
});
