/**
 * The part of questions on the account page: the pages of waits, and the list of
 * open ones.
 *
 * @module
 */
import type { AccountAddition } from "../account_page/account_pages.ts";
import { waitEndpoints, waitsInWords } from "./wait_pages.ts";

const addition: AccountAddition = {
  routes(app, services, rated) {
    const wait = waitEndpoints(services);
    app.get("/wait/:id", rated, wait.show);
    app.post("/wait/:id", rated, wait.answer);
  },
  waiting: ({ subject }, services) => waitsInWords(subject, services),
};

export default addition;
