/**
 * A question that is answered on a page of this server, and the ways to tell
 * the person of it: by their client where it opens pages, by the model where it
 * does not.
 *
 * @module
 */
import type { Elicited } from "../../authoring/context.ts";
import type { JsonObject } from "../../json.ts";
import type { PageQuestion, Visits } from "./visits.ts";
import type { Work } from "./work.ts";

/**
 * The time for which a round of a 2026 client is held while its person is on
 * the page, in milliseconds: proxies and clients give up after 30 seconds.
 */
const HOLD_MILLISECONDS = 25_000;

/**
 * Asks on a page, and gives the answer that was given there.
 *
 * @param request asks the client to open the page; undefined for a client that
 * cannot
 */
export async function askOnPage(
  work: Work,
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
