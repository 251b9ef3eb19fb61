/**
 * Examines a server, one check after the other.
 *
 * @module
 */
import { REACH_CHECKS } from "./checks_reach.ts";
import { SIGN_IN_CHECKS } from "./checks_sign_in.ts";
import { Fault, type Finding, Skipped } from "./finding.ts";
import { Site } from "./site.ts";

/** Everything about the server at a URL. */
export async function* examine(
  url: string,
  fetcher: typeof fetch = fetch,
): AsyncGenerator<Finding> {
  const site = new Site(url, fetcher);
  const told = new Set<Fault>();
  for (const { name, run } of [...REACH_CHECKS, ...SIGN_IN_CHECKS]) {
    const finding = await examineOne(name, () => run(site), told);
    yield finding;
    // Where nothing answers, or nobody signs in, there is no more to say.
    if (name === "Health" && finding.result === "failed") return;
    if (name.startsWith("Challenge") && finding.result === "skipped") return;
  }
}

async function examineOne(
  name: string,
  run: () => string | Promise<string>,
  told: Set<Fault>,
): Promise<Finding> {
  try {
    return { name, result: "ok", found: await run() };
  } catch (error) {
    if (error instanceof Skipped) {
      return { name, result: "skipped", found: error.message };
    }
    if (!(error instanceof Fault)) throw error;
    const { found, fix, result } = error;
    // What several checks need is kept, its fault too: it is told once.
    if (told.has(error)) {
      return { name, result: "skipped", found: `needs what failed: ${found}` };
    }
    told.add(error);
    return { name, result, found, fix };
  }
}
