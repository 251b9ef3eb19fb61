/**
 * `GET /account/calls`: a person's latest tool calls; for an operator, all
 * people's.
 *
 * @module
 */
import {
  type CallInWords,
  CallsSection,
  parseOutcome,
} from "./calls_section.tsx";
import { failuresFirst, type LedgerStore } from "./ledger.ts";
import { clientName } from "../../core/oauth/client.ts";
import { isMachine } from "../../core/oauth/configured_client.ts";
import { type Grant, ledgerIdOf } from "../../core/oauth/grant.ts";
import { personName } from "../../core/oauth/person.ts";
import { machineSubject } from "../../core/oauth/subject.ts";
import type {
  AccountPagePart,
  AccountPageServices,
  CallFilter,
} from "../account_page/account_pages.ts";
import { clientNameOf } from "../account_page/client_words.ts";
import { ownGrants } from "../account_page/connections_part.ts";

const MAX_PEOPLE = 100;
const MAX_CONNECTIONS = 20;

export function callsPart(
  services: AccountPageServices,
  ledger: LedgerStore,
): AccountPagePart {
  return {
    name: "calls",
    label: "Calls",
    title: "Latest calls",
    query: ["person", "client", "outcome", "before"],

    async show(visit) {
      const { session: { subject }, isOperator, query, form: { base }, now } =
        visit;
      const { person, client, outcome, before } = query;
      const filter: CallFilter = {
        person,
        client,
        before,
        outcome: parseOutcome(outcome),
      };
      const below = Promise.all(
        services.additions.map(({ amongCalls }) =>
          amongCalls?.(visit, filter, services)
        ),
      );
      // The failure is thrown again where `below` is awaited.
      below.catch(() => {});
      const { grants, hasMore } = isOperator
        ? await grantsOfPeople(services, filter)
        : { grants: (await ownGrants(subject, services)).own, hasMore: false };
      const calls = await callsOf(
        { ...services, ledger },
        grants,
        filter,
        isOperator,
      );
      return CallsSection({
        base,
        below: await below,
        calls,
        filter,
        isForOperators: isOperator,
        hasMore,
        now,
      });
    },
  };
}

/** Lists the grants of the first people that match an operator's search. */
async function grantsOfPeople(
  { people }: AccountPageServices,
  { person: search }: CallFilter,
): Promise<{ grants: Grant[]; hasMore: boolean }> {
  const page = await people.list({ search, most: MAX_PEOPLE });
  return {
    grants: page.people.flatMap((one) => one.grants.slice(0, MAX_CONNECTIONS)),
    hasMore: page.next !== undefined,
  };
}

/**
 * Lists the calls of some grants and, if `withMachines`, of
 * `client_credentials` clients.
 */
async function callsOf(
  { ledger, configured, titleOf }: Omit<AccountPageServices, "ledger"> & {
    ledger: LedgerStore;
  },
  grants: readonly Grant[],
  { person, client, outcome }: CallFilter,
  withMachines: boolean,
): Promise<CallInWords[]> {
  const machines = withMachines ? configured.filter(isMachine) : [];
  const owners = new Map([
    // The calls of a `client_credentials` client are stored longer than its
    // grants.
    ...machines.map((machine) => {
      const name = clientName(machine);
      const owner = { person: name, client: name };
      return [machineSubject(machine.clientId), owner] as const;
    }).filter(([, owner]) => holds(owner.person, person)),
    ...grants.map((grant) => {
      const owner = { person: personName(grant), client: clientNameOf(grant) };
      return [ledgerIdOf(grant), owner] as const;
    }),
  ].filter(([, owner]) => holds(owner.client, client)));
  const ledgers = await ledger.list([...owners.keys()]);
  const calls = [...owners.values()].flatMap((owner, index) =>
    ledgers[index].map((call) => ({
      ...call,
      ...owner,
      toolTitle: titleOf(call.tool),
    }))
  );
  return failuresFirst(calls).filter((call) =>
    outcome === undefined || call.outcome === outcome
  );
}

function holds(name: string, part = ""): boolean {
  return name.toLowerCase().includes(part.trim().toLowerCase());
}
