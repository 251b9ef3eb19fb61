/**
 * The part of people's accounts on the account page, and the pages that connect
 * one.
 *
 * @module
 */
import type { AccountAddition } from "../account_page/account_pages.ts";
import { accountsPart, disconnection } from "./accounts_part.ts";
import { connectEndpoints } from "./connect.ts";

const addition: AccountAddition = {
  parts: (services) =>
    services.accountServices.size > 0 ? [accountsPart(services)] : [],
  routes(app, services, rated) {
    const connect = connectEndpoints(services);
    app.post("/account/accounts/disconnect", rated, disconnection(services));
    app.get("/connect/:name", rated, connect.show);
    app.post("/connect/:name", rated, connect.answer);
    app.get("/connect/:name/callback", rated, connect.finish);
  },
};

export default addition;
