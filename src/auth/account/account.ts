/**
 * `/account`: the pages on which people see and end what they have allowed, with
 * their forms.
 *
 * @module
 */
import { type Context, Hono, type MiddlewareHandler } from "@hono/hono";
import { dropCookie } from "../../http/cookie.ts";
import type { Passing } from "../../http/passing.ts";
import { redirect } from "../../http/redirect.ts";
import { accountPages } from "./account_page.ts";
import { accountSignIn } from "./account_sign_in.ts";
import { personConfirmation } from "./confirmed_person.ts";
import { connectionChanges } from "./connection_changes.ts";
import { ownDataEndpoints } from "./own_data.ts";
import { accountParts, type PartOptions } from "./parts.ts";
import { personalTokenEndpoint } from "./personal_tokens.ts";
import { accountPlaces } from "./places.ts";
import { waitEndpoints } from "./waits.ts";
import { workCancellation } from "./work_changes.ts";

/** The parts of the pages and of their forms. */
type AccountOptions =
  & PartOptions
  & Omit<Parameters<typeof accountSignIn>[0], "places">
  & Parameters<typeof personConfirmation>[0]
  & Parameters<typeof accountPages>[0]
  & Omit<Parameters<typeof connectionChanges>[0], "places">
  & Omit<Parameters<typeof workCancellation>[0], "places">
  & Parameters<typeof ownDataEndpoints>[0]
  & Parameters<typeof waitEndpoints>[0]
  & Omit<Parameters<typeof personalTokenEndpoint>[0], "confirmPerson">;

/** Makes the routes of the account, and its way back from the provider. */
export function accountRoutes(options: AccountOptions) {
  const { baseUrl, accountSessions, checkRate } = options;
  const parts = accountParts(options);
  const places = accountPlaces(baseUrl, parts);
  const pageOf = accountPages(options, parts, places);
  const change = connectionChanges({ ...options, places });
  const { start, ...signIn } = accountSignIn({ ...options, places });
  const rated: MiddlewareHandler = async (c, next) => {
    await checkRate(c);
    await next();
  };

  async function signOut(c: Context): Promise<Response> {
    const { id } = await options.signedIn.findForm(c);
    await accountSessions.end(id);
    dropCookie(c, { name: "account", baseUrl });
    return redirect(c, `${baseUrl}/account`);
  }

  const app = new Hono<Passing>();
  for (const part of parts) {
    const path = part.name === "" ? "/account" : `/account/${part.name}`;
    app.get(path, rated, pageOf(part));
  }
  app.post("/account/sign-in", start);
  app.post("/account/sign-out", rated, signOut);
  app.post("/account/end", rated, change.end);
  app.post("/account/pause", rated, change.pause);
  app.post("/account/resume", rated, change.resume);
  app.post("/account/narrow", rated, change.narrow);
  const cancelWork = workCancellation({ ...options, places });
  app.post("/account/work/cancel", rated, cancelWork);
  const confirmPerson = personConfirmation(options);
  const makeToken = personalTokenEndpoint({ ...options, confirmPerson });
  app.post("/account/tokens", rated, makeToken);
  const data = ownDataEndpoints(options);
  app.post("/account/export", rated, data.download);
  app.post("/account/erase", rated, data.erase);
  const wait = waitEndpoints(options);
  app.get("/wait/:id", rated, wait.show);
  app.post("/wait/:id", rated, wait.answer);
  return { ...signIn, app };
}
