/** The sealing by a service for keys (KMS) that docs/sealing.md shows. */
import assert from "node:assert/strict";
import type { Sealing } from "../../src/mod.ts";
import { SteadyTime } from "../kit/fake_time.ts";
import { TemporaryDirectory } from "../kit/process.ts";
import { readPages } from "./pages.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A KMS whose keys are one byte, by their names. */
class Kms {
  readonly keys = new Map([["old", 17], ["new", 42]]);
  readonly asked: string[] = [];
  isDown = false;

  constructor(public keyId = "old") {}

  encrypt(bytes: Bytes, keyId: string): Promise<Bytes> {
    return this.#turn("encrypt", bytes, keyId) as Promise<Bytes>;
  }

  decrypt(bytes: Bytes, keyId: string): Promise<Bytes | undefined> {
    return this.#turn("decrypt", bytes, keyId);
  }

  async #turn(
    what: string,
    bytes: Bytes,
    keyId: string,
  ): Promise<Bytes | undefined> {
    this.asked.push(`${what} ${keyId}`);
    await Promise.resolve();
    if (this.isDown) throw new Error("down");
    const key = this.keys.get(keyId);
    return key === undefined ? undefined : bytes.map((byte) => byte ^ key);
  }
}

/** Loads the block of the page. */
async function readEnvelope(): Promise<(kms: Kms) => Sealing> {
  const { blocks } = (await readPages())
    .find(({ path }) => path === "docs/sealing.md")!;
  const { text } = blocks.find(({ file }) => file === "envelope.ts")!;
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/envelope.ts`;
  await Deno.writeTextFile(path, text);
  return (await import(`file://${path}`)).envelope;
}

Deno.test("the envelope of docs/sealing.md asks the KMS once for many accounts, and tells a key that is gone from a KMS that is down", async () => {
  using time = new SteadyTime();
  const envelope = await readEnvelope();
  const kms = new Kms();
  const one = envelope(kms);
  kms.isDown = true;
  await assert.rejects(one.seal("text"));
  kms.isDown = false;
  kms.asked.length = 0;
  const texts = ["a", "ü", "x".repeat(17_000)];
  const sealed = await Promise.all(texts.map((text) => one.seal(text)));
  assert.ok(sealed.every((it) => it.sealed.length <= 48_000));
  const other = envelope(new Kms("new"));
  kms.isDown = true;
  const process = envelope(kms);
  await assert.rejects(process.unseal(sealed[0]));
  kms.isDown = false;
  for (const opener of [process, other]) {
    const opened = sealed.map((it) => opener.unseal(it));
    assert.deepEqual(await Promise.all(opened), texts);
  }
  assert.deepEqual(kms.asked, ["encrypt old", "decrypt old", "decrypt old"]);
  const [wrapped, iv, data] = sealed[1].sealed.split(".");
  const changed = [
    wrapped,
    iv,
    `${data[0] === "A" ? "B" : "A"}${data.slice(1)}`,
  ].join(".");
  await assert.rejects(one.unseal({ ...sealed[1], sealed: changed }));
  kms.keyId = "new";
  assert.equal((await one.seal("text")).keyId, "new");
  // A key that is destroyed opens nothing, once the data keys are forgotten.
  kms.keys.delete("old");
  time.tick(301);
  assert.equal(await process.unseal(sealed[0]), undefined);
});
