/**
 * The part of approvals on the account page: their pages, and the list of those
 * that wait.
 *
 * @module
 */
import type { AccountAddition } from "../account_page/account_pages.ts";
import { approvalEndpoints } from "./approval_pages.ts";

const addition: AccountAddition = {
  routes(app, services, rated) {
    const approval = approvalEndpoints(services);
    app.get("/approve/:id", rated, approval.show);
    app.post("/approve/:id", rated, approval.answer);
  },
  waiting: (session, services) => approvalEndpoints(services).waiting(session),
};

export default addition;
