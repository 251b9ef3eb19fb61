/**
 * The steps of people with their connections on the account page.
 *
 * @module
 */
import { AccountVisitor } from "../kit/account_visitor.ts";
import { Client } from "../kit/client.ts";
import { Processes, type Surroundings } from "./processes.ts";
import { signIn } from "./walk.ts";

/** Walks from signing in to ending a connection. */
export async function walkAccount(surroundings: Surroundings): Promise<void> {
  await using processes = new Processes("oauth", surroundings, {
    environment: { OAUTH_ADMINS: "root@example.com" },
  });
  const client = await Client.register(processes.as("register"));
  for (let count = 0; count < 2; count++) await signIn(processes, client);
  const { provider } = processes;
  const { fetch } = processes.as("account");
  const visitor = await AccountVisitor.signIn({ fetch, provider });
  await visitor.press("/account/pause");
  await visitor.press("/account/resume");
  await visitor.press("/account/narrow");
  await visitor.makeToken();
  await visitor.press("/account/end");
  for (const part of ["/calls", "/data"]) await visitor.look(part);
  const operator = await AccountVisitor.signIn({ fetch, provider }, {
    as: "root",
    email: "root@example.com",
    at: "/attempts",
  });
  // The first visit writes what waits.
  for (let visit = 0; visit < 2; visit++) {
    for (const part of ["/people", "/clients", "/attempts"]) {
      await operator.look(part);
    }
  }
}
