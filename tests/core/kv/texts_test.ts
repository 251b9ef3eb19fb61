import assert from "node:assert/strict";
import { textKey } from "../../../src/core/kv/keys.ts";
import {
  deleteText,
  findText,
  readText,
  saveText,
  TextExpiredError,
} from "../../../src/core/kv/texts.ts";
import { countedOn, test } from "../../kit/databases.ts";

const PART = 28_000;

/** Makes a database that counts its commits, with the end of its texts. */
function startOn(kv: Deno.Kv) {
  const { place, database } = countedOn(kv);
  return { place, database, expiresAt: database.now() + 60 };
}

async function count(kv: Deno.Kv): Promise<number> {
  return (await Array.fromAsync(kv.list({ prefix: [] }))).length;
}

test.inMemory("saveText() writes nothing of a text that its record has room for", async ({ kv }) => {
  const { place, database, expiresAt } = startOn(kv);
  const text = "x".repeat(PART);
  const ref = await saveText(database, text, { expiresAt });
  assert.deepEqual(ref, { text });
  assert.equal(await readText(database, ref), text);
  await deleteText(database, ref);
  assert.equal(place.commits, 0);
});

test.inMemory("saveText() cuts a longer text into parts, and no empty one", async ({ kv }) => {
  const { database, expiresAt } = startOn(kv);
  for (const [length, parts] of [[PART + 1, 2], [2 * PART, 2]]) {
    const text = "x".repeat(length);
    const ref = await saveText(database, text, { expiresAt });
    assert(!("text" in ref));
    assert.equal(ref.parts, parts);
    assert.equal(await count(kv), parts);
    assert.equal(await readText(database, ref), text);
    await deleteText(database, ref);
    assert.equal(await count(kv), 0);
  }
});

test.inMemory("saveText() writes twelve parts at once, and a short one where that is wanted", async ({ kv }) => {
  const { place, database, expiresAt } = startOn(kv);
  await saveText(database, "é".repeat(12 * PART), { expiresAt });
  assert.equal(place.commits, 1);
  await saveText(database, "é".repeat(12 * PART + 1), { expiresAt });
  assert.equal(place.commits, 3);
  const options = { expiresAt, inlineCharacters: 10 };
  assert("text" in await saveText(database, "x".repeat(10), options));
  assert("parts" in await saveText(database, "x".repeat(11), options));
});

test.inMemory("readText() says that a text has expired, whatever is left of it", async ({ kv }) => {
  const { database, expiresAt } = startOn(kv);
  const ref = await saveText(database, "x".repeat(2 * PART), { expiresAt });
  assert("parts" in ref);
  for (const part of [1, 0]) {
    await kv.delete(textKey(ref.id, part));
    await assert.rejects(readText(database, ref), TextExpiredError);
    assert.equal(await findText(database, ref), undefined);
  }
});
