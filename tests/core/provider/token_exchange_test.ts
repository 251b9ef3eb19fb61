import assert from "node:assert/strict";
import { KeptTokens } from "../../../src/core/provider/token_exchange.ts";
import { UpstreamError } from "../../../src/core/provider/provider.ts";
import { now, systemClock } from "../../../src/core/clock.ts";
import { FakeTime } from "../../kit/fake_time.ts";

/** Tokens that are asked for, with numbers. */
function counted(seconds?: number) {
  const place = { count: 0 };
  const ask = async () => {
    const accessToken = `token-${++place.count}`;
    await Promise.resolve();
    const expiresAt = seconds === undefined
      ? undefined
      : now(systemClock) + seconds;
    return { accessToken, tokenType: "Bearer", expiresAt };
  };
  return { place, ask };
}

Deno.test("get() asks once for fifty at a time, and replace() once for fifty refusals of one token", async () => {
  using time = new FakeTime();
  const kept = new KeptTokens();
  const { place, ask } = counted(3600);
  const fifty = <T>(act: () => Promise<T>) =>
    Promise.all(Array.from({ length: 50 }, act));
  const first = await fifty(() => kept.get("a", ask));
  assert.equal(place.count, 1);
  const refused = first[0].accessToken;
  const second = await fifty(() => kept.replace("a", ask, refused));
  assert.equal(place.count, 2);
  assert.equal(new Set(second).size, 1);
  // A late request with the old one is given the new one too.
  assert.equal(await kept.replace("a", ask, refused), second[0]);
  const { accessToken } = second[0]!;
  assert.equal(await kept.replace("a", ask, accessToken), undefined);
  time.tick(60);
  assert.equal(
    (await kept.replace("a", ask, accessToken))?.accessToken,
    "token-3",
  );
});

Deno.test("replace() gives nothing if the same token comes again", async () => {
  const kept = new KeptTokens();
  const same = () => Promise.resolve({ accessToken: "a", tokenType: "Bearer" });
  assert.equal(await kept.replace("key", same, "a"), undefined);
});

for (
  const [seconds, life] of [
    [600, 540],
    [30, 15],
    [100_000, 3540],
    [undefined, 240],
  ] as const
) {
  Deno.test(`a token of ${seconds ?? "no"} seconds is given for ${life}`, async () => {
    using time = new FakeTime();
    const kept = new KeptTokens();
    const { place, ask } = counted(seconds);
    await kept.get("a", ask);
    time.tick(life - 1);
    // The time of day changes nothing.
    time.set(0);
    await kept.get("a", ask);
    assert.equal(place.count, 1);
    time.tick(1);
    await kept.get("a", ask);
    assert.equal(place.count, 2);
  });
}

Deno.test("a refusal is kept for a minute, and that no one answers is not", async () => {
  using time = new FakeTime();
  const kept = new KeptTokens();
  let kind: UpstreamError["kind"] = "dead";
  let count = 0;
  const ask = () => {
    count++;
    return Promise.reject(new UpstreamError(kind, "As told"));
  };
  const isAsked = async () => {
    const before = count;
    await assert.rejects(kept.get("a", ask), { kind });
    return count > before;
  };
  assert.ok(await isAsked());
  assert.ok(!await isAsked());
  time.tick(60);
  kind = "unavailable";
  assert.ok(await isAsked());
  assert.ok(await isAsked());
});

Deno.test("ten thousand tokens are kept, and not one more", async () => {
  const kept = new KeptTokens();
  const { place, ask } = counted(3600);
  for (let nth = 0; nth <= 10_000; nth++) await kept.get(String(nth), ask);
  await kept.get("1", ask);
  assert.equal(place.count, 10_001);
  await kept.get("0", ask);
  assert.equal(place.count, 10_002);
});
