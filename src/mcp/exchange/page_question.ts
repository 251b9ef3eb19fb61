/**
 * A question that is answered on a page of this server, and the ways to tell
 * the person of it: by their client where it opens pages, by the model where it
 * does not.
 *
 * @module
 */
import type { Elicited } from "../../authoring/context.ts";
import type { JsonObject } from "../../json.ts";
import type { Link, PageQuestion, Visits } from "./visits.ts";

/**
 * The time for which a round of a 2026 client is held while its person is on
 * the page, in milliseconds: proxies and clients give up after 30 seconds.
 */
const HOLD_MILLISECONDS = 25_000;

/** The work that asks: a call, or a task. */
export interface AskingWork {
  readonly stateless: boolean;
  readonly signal: AbortSignal;
  /**
   * Gives a link to a client that opens no pages: in a result that ends the run,
   * for good, or in the status of a task, which goes on.
   */
  showLink?(link: Link): Promise<void>;
  /**
   * True if the question of this key may be asked once more. Only of a 2026
   * request, which cannot be held for as long as a person needs.
   */
  mayAskAgain?(key: string): boolean;
  /** Sends a notification that belongs to the request. */
  notify(method: string, params: JsonObject): Promise<void>;
}

/**
 * Asks on a page, and gives the answer that was given there.
 *
 * @param request asks the client to open the page; undefined for a client that
 * cannot
 */
export async function askOnPage(
  work: AskingWork,
  visits: Visits,
  question: PageQuestion,
  request?: (params: JsonObject, key: string) => Promise<JsonObject>,
): Promise<Elicited<undefined>> {
  const { signal, stateless } = work;
  const { message } = question;
  const visit = await visits.open(question);
  if ("answer" in visit) return visit.answer;
  const { key, address: url, wait } = visit;
  const elicitationId = stateless ? {} : { elicitationId: wait.id };
  while (request) {
    // A client only accepts that the page is opened.
    const { action } = await request(
      { mode: "url", message, url, ...elicitationId },
      key,
    );
    if (action !== "accept") {
      await visits.withdraw(visit);
      return { action: action === "decline" ? action : "cancel" };
    }
    const most = work.mayAskAgain && HOLD_MILLISECONDS;
    const answer = await visits.hold(visit, signal, most);
    if (answer && !stateless) {
      await work.notify("notifications/elicitation/complete", elicitationId);
    }
    if (answer) return answer;
    if (!work.mayAskAgain?.(key)) break;
  }
  await work.showLink!({ address: url, message });
  return (await visits.hold(visit, signal))!;
}
