/**
 * `/account/accounts`: a person's accounts at other services, and the form that
 * disconnects one.
 *
 * @module
 */
import type { ConnectServices } from "./connect_pages.ts";
import type { Context } from "@hono/hono";
import { titleOf } from "../../authoring/account.ts";
import { scopesNotGiven } from "../../core/oauth/given_scopes.ts";
import { AccountsSection } from "./accounts_section.tsx";
import type { ListedAccount } from "./accounts.ts";
import {
  type AccountPagePart,
  redirectBack,
  type ReturnPaths,
} from "../account_page/account_pages.ts";
import { missingSetting } from "./connect_flow.ts";

export function accountsPart(services: ConnectServices): AccountPagePart {
  const { accounts, accountServices } = services;
  return {
    name: "accounts",
    label: "Accounts",
    title: "Your accounts at other services",

    async show({ session: { subject }, form, now }) {
      const own = await accounts.listOf(subject);
      const [on, off] = [false, true].map((isOff) =>
        [...accountServices.values()].filter((service) =>
          isOff === (missingSetting(service, services) !== undefined)
        )
      );
      return AccountsSection({
        ...form,
        accounts: await Promise.all(own.map(async (account) => {
          const { tool } = account.usedBy ?? {};
          const service = accountServices.get(account.service);
          return {
            ...account,
            title: service ? titleOf(service) : account.service,
            isConnectable: on.some(({ name }) => name === account.service),
            unnamed: scopesNotGiven(account.scopes ?? [], account.given),
            isRevoked: await canRevokeAtService(account, services),
            toolTitle: tool && services.titleOf(tool),
          };
        })),
        off: off.map(titleOf),
        offered: on
          .map(({ name, title = name, several }) => {
            const isMore = own.some(({ service }) => service === name);
            return { name, title, several, isMore };
          })
          .filter(({ several, isMore }) => several || !isMore),
        now,
      });
    },
  };
}

/**
 * True if this server can revoke an account's tokens at its service. False if
 * that cannot be found out now: the page then tells the person to revoke them
 * there.
 */
export async function canRevokeAtService(
  { id, subject, service, application }: ListedAccount,
  { accountClients, vault }: Pick<ConnectServices, "accountClients" | "vault">,
): Promise<boolean> {
  const client = accountClients.get(service);
  if (!vault || !client || client.id !== application) return false;
  try {
    // Only such a service may have had another issuer, which the tokens name.
    if (!client.findServer) return await client.canRevoke();
    const own = await vault.find(subject);
    const found = own.find(({ key }) => key.at(-1) === id);
    const tokens = found && await vault.open(found);
    return tokens !== undefined && await client.canRevoke(JSON.parse(tokens));
  } catch {
    return false;
  }
}

export function disconnection(
  { signedIn, accounts, returnPaths, log }: ConnectServices & {
    returnPaths: ReturnPaths;
  },
): (c: Context) => Promise<Response> {
  return async function disconnect(c) {
    const { id, session: { subject }, form } = await signedIn.findForm(c);
    const gone = await accounts.forget(subject, form.require("account"));
    if (gone) {
      log.audit("Account disconnected", {
        reference: c.get("reference"),
        subject,
        service: gone.service,
      });
    }
    const change = gone ? "disconnected" : "over";
    return await redirectBack(c, returnPaths, { id, form }, { change });
  };
}
