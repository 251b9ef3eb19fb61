/**
 * `/account`: the pages on which people see and end their connections, and the
 * endpoints of their forms.
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
import {
  type AccountPageAddition,
  accountPages,
  type AccountPageServices,
  returnPathsOf,
} from "./account_pages.ts";
import type { MakeSignedInPages } from "../../core/auth/server/signed_in_pages.ts";
import { accountSessionsOf } from "./account_sessions.ts";
import { signInGuard } from "./signed_in.ts";
import { accountSignIn } from "./account_sign_in.ts";
import { connectionChanges } from "./connection_changes.ts";
import { connectionsPart } from "./connections_part.ts";
import { dataPart, ownDataEndpoints } from "./own_data.ts";
import { personalTokenEndpoint, tokensPart } from "./personal_tokens.ts";

export function accountPage(
  additions: readonly AccountPageAddition[],
): MakeSignedInPages {
  return (auth, limit) => {
    const accountSessions = accountSessionsOf(auth.server);
    const signedIn = signInGuard({ ...auth, accountSessions });
    const services = { ...auth, accountSessions, signedIn, additions };
    return {
      ...accountRoutes(services, limit),
      find: async (c) => (await signedIn.find(c))?.session,
      async accountsOf(subject) {
        const all = additions.map(({ accountsOf }) =>
          accountsOf?.(subject, services) ?? []
        );
        return (await Promise.all(all)).flat();
      },
    };
  };
}

function accountRoutes(
  services: AccountPageServices,
  limit: MiddlewareHandler,
) {
  const { baseUrl, accountSessions, additions } = services;
  const added = additions.flatMap(({ parts }) => parts?.(services) ?? []);
  // In the order of the navigation; `/account` is the first.
  const parts = [
    connectionsPart(services),
    tokensPart(services),
    ...added.filter(({ isForOperators }) => !isForOperators),
    dataPart(services),
    ...added.filter(({ isForOperators }) => isForOperators),
  ];
  const returnPaths = returnPathsOf(baseUrl, parts);
  const formServices = { ...services, returnPaths };
  const pageOf = accountPages(formServices, parts);
  const { start, ...signIn } = accountSignIn(formServices);
  const change = connectionChanges(formServices);
  const data = ownDataEndpoints(services);

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
  app.post("/account/tokens", rated, personalTokenEndpoint(services));
  app.post("/account/export", rated, data.download);
  app.post("/account/erase", rated, data.erase);
  for (const { routes } of additions) routes?.(app, formServices, rated);
  return { ...signIn, app };
}
