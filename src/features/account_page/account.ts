/**
 * `/account`: the pages on which people see and end what they have allowed, with
 * their forms.
 *
 * @module
 */
import { type Context, Hono, type MiddlewareHandler } from "@hono/hono";
import {
  checkDocument,
  dropCookie,
  redirect,
} from "../../core/http/browser.ts";
import type { AppEnv } from "../../core/http/client_address.ts";
import { accountsPart, disconnection } from "../accounts/accounts_part.ts";
import { accountPages, accountPlaces } from "./account_pages.ts";
import type { AuthServices } from "../../core/auth/services.ts";
import { accountSignIn } from "./account_sign_in.ts";
import { callsPart } from "../ledger/calls_part.ts";
import { connectEndpoints } from "../accounts/connect.ts";
import { connectionChanges } from "./connection_changes.ts";
import { connectionsPart } from "./connections_part.ts";
import {
  attemptsPart,
  clientsPart,
  durablePart,
  peoplePart,
} from "../operators/operator_parts.ts";
import { dataPart, ownDataEndpoints } from "./own_data.ts";
import { workCancellation, workPart } from "../work/own_work.ts";
import { personalTokenEndpoint, tokensPart } from "./personal_tokens.ts";
import { taskAnswer } from "../work/task_question_pages.ts";
import { waitEndpoints } from "../questions/wait_pages.ts";

/**
 * Makes the routes of the account, and the handler of its provider callback.
 */
export function accountRoutes(
  services: AuthServices,
  limit: MiddlewareHandler,
) {
  const { baseUrl, accountSessions, ledger } = services;
  // In the order of the navigation; the first is `/account`.
  const parts = [
    connectionsPart(services),
    tokensPart(services),
    ...services.accountServices.size > 0 ? [accountsPart(services)] : [],
    ...ledger ? [callsPart({ ...services, ledger })] : [],
    workPart(services),
    dataPart(services),
    peoplePart(services),
    clientsPart(services),
    attemptsPart(services),
    durablePart(services),
  ];
  const places = accountPlaces(baseUrl, parts);
  const placed = { ...services, places };
  const pageOf = accountPages(placed, parts);
  const { start, ...signIn } = accountSignIn(placed);
  const change = connectionChanges(placed);
  const data = ownDataEndpoints(services);
  const wait = waitEndpoints(services);
  const connect = connectEndpoints(services);

  const rated: MiddlewareHandler = async (c, next) => {
    checkDocument(c.req.raw);
    return await limit(c, next);
  };

  async function signOut(c: Context): Promise<Response> {
    const { id } = await services.signedIn.findForm(c);
    await accountSessions.close(id);
    dropCookie(c, { name: "account", baseUrl });
    return redirect(c, `${baseUrl}/account`);
  }

  const app = new Hono<AppEnv>();
  for (const part of parts) {
    const path = part.name === "" ? "/account" : `/account/${part.name}`;
    app.get(path, rated, pageOf(part));
  }
  app.post("/account/sign-in", rated, start);
  app.post("/account/sign-out", rated, signOut);
  app.post("/account/end", rated, change.end);
  app.post("/account/pause", rated, change.pause);
  app.post("/account/resume", rated, change.resume);
  app.post("/account/narrow", rated, change.narrow);
  app.post("/account/work/cancel", rated, workCancellation(placed));
  app.post("/account/work/answer", rated, taskAnswer(placed));
  app.post("/account/tokens", rated, personalTokenEndpoint(services));
  app.post("/account/export", rated, data.download);
  app.post("/account/erase", rated, data.erase);
  app.post("/account/accounts/disconnect", rated, disconnection(placed));
  app.get("/connect/:name", rated, connect.show);
  app.post("/connect/:name", rated, connect.answer);
  app.get("/connect/:name/callback", rated, connect.finish);
  app.get("/wait/:id", rated, wait.show);
  app.post("/wait/:id", rated, wait.answer);
  return { ...signIn, app };
}
