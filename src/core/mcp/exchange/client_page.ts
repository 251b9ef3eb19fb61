/**
 * Asks the client to show a person the link of a page, and waits for the
 * answer.
 *
 * @module
 */
import { AskedQuestion } from "../../protocol/question.ts";
import type { OpenPage, PagesOf, Work } from "./work.ts";

/**
 * The time for which an MCP 2026-07-28 request stays open while a person
 * answers on a page. Proxies and clients give up after 30 seconds.
 */
const HOLD_MILLISECONDS = 25_000;

/**
 * The age at which an MCP 2025 request stops waiting for a person. Clients give
 * up after a minute.
 */
const OPEN_MILLISECONDS = 45_000;

/**
 * Asks the client to open a page, and waits for the answer.
 *
 * @returns undefined if the answer takes longer than the request may stay open
 */
export async function askViaClient<A extends { action: string }>(
  work: Work,
  pages: PagesOf<A>,
  page: OpenPage,
  message: string,
): Promise<A | { action: "decline" | "cancel" } | undefined> {
  const { signal, stateless, startedMilliseconds } = work;
  const isTask = startedMilliseconds === undefined;
  const elicitationId = stateless ? {} : { elicitationId: page.wait.id };
  const params = { mode: "url", message, url: page.address, ...elicitationId };
  const question = new AskedQuestion("elicitation/create", params, page.key);
  for (;;) {
    const late = new AbortController();
    const opening = work.request(question, late.signal)
      .then(({ action }) => ({ opened: action }));
    // A task and an MCP 2025 request stay open, so they can wait for the answer
    // at the same time.
    const answering = stateless && !isTask ? undefined : pages.waitFor(
      page,
      AbortSignal.any([signal, late.signal]),
      isTask
        ? undefined
        : OPEN_MILLISECONDS - (performance.now() - startedMilliseconds),
    );
    answering?.catch(() => {});
    try {
      const { opened } = await Promise.race([
        opening,
        ...answering ? [answering.then(() => ({ opened: "accept" }))] : [],
      ]);
      // `accept` says only that the person opens the page.
      if (opened !== "accept" && await pages.withdraw(page)) {
        return { action: opened === "decline" ? opened : "cancel" };
      }
      const answer = await (answering ??
        pages.waitFor(page, signal, work.mayAskAgain && HOLD_MILLISECONDS));
      if (answer && !stateless) {
        await work.notify("notifications/elicitation/complete", elicitationId);
      }
      if (answer || !work.mayAskAgain?.(page.key)) return answer;
    } finally {
      // Once the person has answered, the client's response is not needed.
      late.abort();
      const closed = opening.catch(() => {});
      if (isTask) await closed;
    }
  }
}
