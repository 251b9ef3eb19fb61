/**
 * The provider's API for an author's code. That the sign-in there has ended is
 * for the client, which lets the person sign in again: no `catch` of an author
 * may keep it from them.
 *
 * @module
 */
import type { Upstream } from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";
import type { AuthoredRun } from "./authored_run.ts";

/** The same API, where a challenge cuts the run instead of being thrown. */
export function uncatchable(upstream: Upstream, run: AuthoredRun): Upstream {
  async function orCut<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ChallengeError)) throw error;
      return await run.cut(error);
    }
  }
  return {
    token: () => orCut(() => upstream.token()),
    fetch: (input, init) => orCut(() => upstream.fetch(input, init)),
  };
}
