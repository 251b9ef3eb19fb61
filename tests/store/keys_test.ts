import assert from "node:assert/strict";
import * as keys from "../../src/store/keys.ts";

Deno.test("every key begins with a word of its own", () => {
  const { listedSessionKey, sessionEndKey, ...others } = keys;
  const words = Object.values(others).map((keyOf) =>
    (keyOf as (...parts: unknown[]) => Deno.KvKey)("an id", "another")[0]
  );
  for (const word of words) assert.match(String(word), /^[a-z]+(-[a-z]+)*$/);
  assert.equal(new Set(words).size, words.length);
  const session = listedSessionKey(["session-of", "ada", "id"]);
  assert.deepEqual(session, ["session", "id"]);
  assert.deepEqual(sessionEndKey(session), ["session-end", "id"]);
});

Deno.test("a key holds an id of ours as it is, and a longer one as a fingerprint", () => {
  const [, longest] = keys.taskKey("x".repeat(64));
  assert.equal(longest, "x".repeat(64));
  const [, longer] = keys.taskKey("x".repeat(65));
  assert.match(String(longer), /^[\w-]{43}$/);
});
