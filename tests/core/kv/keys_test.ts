import assert from "node:assert/strict";
import * as keys from "../../../src/core/kv/keys.ts";

Deno.test("every key begins with a word of its own", () => {
  const {
    listedSessionKey,
    // Other keys, or places among them.
    listedAccountSessionKey,
    listedReceiptKey,
    listedWaitKey,
    listingWaitKey,
    personKey,
    peopleCursorOf,
    peopleRange,
    rangeOf,
    dueWakesRange,
    partsOfWake,
    repliesOfKey,
    wakesOfLaterAddresses,
    wakesOfSameAddress,
    ...others
  } = keys;
  const words = Object.values(others).map((keyOf) =>
    (keyOf as (...parts: unknown[]) => Deno.KvKey)(
      "an id",
      "another",
      "a third",
    )[0]
  );
  for (const word of words) assert.match(String(word), /^[a-z]+(-[a-z]+)*$/);
  assert.equal(new Set(words).size, words.length);
  const session = listedSessionKey(["session-of", "ada", "id"]);
  assert.deepEqual(session, ["session", "id"]);
  assert.deepEqual(
    repliesOfKey(keys.sessionKey("id")),
    keys.replyKey("id"),
  );
  const listed = ["account-session-of", "ada", "id"];
  assert.deepEqual(listedAccountSessionKey(listed), ["account-session", "id"]);
  const receipt = keys.receiptsOfKey("ada", "id");
  assert.deepEqual(listedReceiptKey(receipt), keys.receiptKey("id"));
  const [, wait] = keys.waitKey("id");
  const listing = listingWaitKey("ada", ["wait", wait]);
  assert.equal(listing[0], keys.waitsOfKey("ada")[0]);
  assert.deepEqual(listedWaitKey(listing), ["wait", wait]);
  const person = personKey("name", "jo", { subject: "ada", days: 1 });
  const { start, end } = peopleRange("name", { begins: "j" });
  const [kind, text, ada] = person;
  assert.deepEqual([start[0], end[0]], [kind, kind]);
  assert(String(start[1]) < String(text) && String(text) < String(end[1]));
  const place = peopleCursorOf(person);
  assert.deepEqual(place, { text: "jo", person: ada });
  const [after] = peopleRange("name", { begins: "", after: place }).start;
  assert.equal(after, kind);
  const wake = { dueSeconds: 1, taskId: "t" };
  assert.deepEqual(partsOfWake(keys.wakeKey("", 1, "t")), wake);
  const ranges = [
    rangeOf(keys.grantKey()),
    rangeOf(keys.grantsOfSubjectKey("ada"), "id"),
    dueWakesRange("", 1),
    wakesOfLaterAddresses(),
    wakesOfSameAddress(keys.wakeKey("", 1, "t")),
  ];
  for (const range of ranges) {
    assert.equal(range.start[0], range.end[0]);
  }
});

Deno.test("a key holds an id of ours as it is, and a longer one as a fingerprint", () => {
  const [, longest] = keys.taskKey("x".repeat(64));
  assert.equal(longest, "x".repeat(64));
  const [, longer] = keys.taskKey("x".repeat(65));
  assert.match(String(longer), /^[\w-]{43}$/);
});
