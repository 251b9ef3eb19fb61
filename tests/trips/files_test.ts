/**
 * The files of the source that one step of a client runs code of: a reader who
 * follows the step opens that many.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Session } from "node:inspector/promises";
import { FakeTime } from "../kit/fake_time.ts";
import type { Surroundings } from "./processes.ts";
import { walkSession, walkSignIn } from "./walk.ts";
import { walkAccounts } from "./walk_accounts.ts";
import { walkSteps } from "./walk_steps.ts";

/** The part of an answer of the V8 profiler that is read here. */
interface Coverage {
  result: {
    url: string;
    functions: { ranges: { count: number }[] }[];
  }[];
}

const SOURCES = /^(src|packages)\//;
const ROOT = new URL("../../", import.meta.url).href;

/**
 * Counts the files of each step: those of every one of six walks, because the
 * first one loads what is missing, and work in the background may fall into a
 * step.
 */
async function countFiles(
  walk: (surroundings: Surroundings) => Promise<void>,
): Promise<Record<string, number>> {
  const files: Record<string, Set<string>> = {};
  using session = Object.assign(new Session(), {
    [Symbol.dispose]: () => session.disconnect(),
  });
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true });
  const filesSince = async () => {
    // Reading the counts sets them to zero.
    const { result } = await session.post(
      "Profiler.takePreciseCoverage",
    ) as Coverage;
    const called = result.filter(({ url, functions }) =>
      url.startsWith(ROOT) && SOURCES.test(url.slice(ROOT.length)) &&
      functions.some(({ ranges }) => ranges[0].count > 0)
    );
    return new Set(called.map(({ url }) => url));
  };
  // In the database that has no code of its own here.
  using kv = await Deno.openKv(":memory:");
  for (let round = 0; round < 6; round++) {
    await walk({
      kv,
      isCold: false,
      uncounted: (action) => action(),
      async step(name, action) {
        await filesSince();
        const value = await action();
        const found = await filesSince();
        files[name] = files[name]?.intersection(found) ?? found;
        return value;
      },
    });
  }
  await session.post("Profiler.stopPreciseCoverage");
  return Object.fromEntries(
    Object.entries(files).map(([name, { size }]) => [name, size]),
  );
}

Deno.test("a step of a client runs code of few files", async () => {
  // Nothing that a step reads from a cache expires on a slow machine.
  using _time = new FakeTime();
  const { refresh } = await countFiles(walkSignIn);
  const { "next call": call } = await countFiles((it) =>
    walkSession("none", it)
  );
  const { "before its second is over": accounts } = await countFiles(
    walkAccounts,
  );
  const { begin } = await countFiles(walkSteps);
  const counts = { refresh, call, accounts, begin };
  const most = { refresh: 45, call: 35, accounts: 55, begin: 80 };
  for (const [step, limit] of Object.entries(most)) {
    const count = counts[step as keyof typeof counts];
    assert.ok(count > 10 && count <= limit, `${step}: ${count} files`);
  }
});
