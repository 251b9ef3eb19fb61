/**
 * `/account`: the page on which people see and end what they have allowed, with
 * its forms.
 *
 * @module
 */
import { type Context, Hono, type MiddlewareHandler } from "@hono/hono";
import { dropCookie } from "../../http/cookie.ts";
import type { Passing } from "../../http/passing.ts";
import { redirect } from "../../http/redirect.ts";
import { accountPageEndpoint } from "./account_page.ts";
import { accountSignIn } from "./account_sign_in.ts";
import { personConfirmation } from "./confirmed_person.ts";
import { connectionChanges } from "./connection_changes.ts";
import { personalTokenEndpoint } from "./personal_tokens.ts";
import { waitEndpoints } from "./waits.ts";

/** The parts of the page and of its forms. */
type AccountOptions =
  & Parameters<typeof accountSignIn>[0]
  & Parameters<typeof personConfirmation>[0]
  & Parameters<typeof accountPageEndpoint>[0]
  & Parameters<typeof connectionChanges>[0]
  & Parameters<typeof waitEndpoints>[0]
  & Omit<Parameters<typeof personalTokenEndpoint>[0], "confirmPerson">;

/** Makes the routes of the account page, and its way back from the provider. */
export function accountRoutes(options: AccountOptions) {
  const { baseUrl, accountSessions, checkRate } = options;
  const change = connectionChanges(options);
  const { start, ...signIn } = accountSignIn(options);
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
  app.get("/account", rated, accountPageEndpoint(options));
  app.post("/account/sign-in", start);
  app.post("/account/sign-out", rated, signOut);
  app.post("/account/end", rated, change.end);
  app.post("/account/pause", rated, change.pause);
  app.post("/account/resume", rated, change.resume);
  app.post("/account/narrow", rated, change.narrow);
  const confirmPerson = personConfirmation(options);
  const makeToken = personalTokenEndpoint({ ...options, confirmPerson });
  app.post("/account/tokens", rated, makeToken);
  const wait = waitEndpoints(options);
  app.get("/wait/:id", rated, wait.show);
  app.post("/wait/:id", rated, wait.answer);
  return { ...signIn, app };
}
