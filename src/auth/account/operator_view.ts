/**
 * The operator's part of the account page: people and their connections, the
 * latest calls, the clients, and the last attempts to connect.
 *
 * @module
 */
import type { ClientDirectory } from "../clients/client_directory.ts";
import { type Client, clientName } from "../rules/client.ts";
import { shortClientId } from "../rules/client_id.ts";
import { isMachine } from "../rules/configured_client.ts";
import { type Grant, ledgerIdOf } from "../rules/grant.ts";
import { nameOf } from "../rules/person.ts";
import { machineSubject } from "../rules/subject.ts";
import type { CallFilter, OperatorCall } from "../../pages/operator_calls.tsx";
import type { OperatorMachine } from "../../pages/operator_people.tsx";
import type { OperatorProps } from "../../pages/operator_section.tsx";
import type { AttemptStore } from "../../store/attempts.ts";
import { failuresFirst } from "../../store/call_list.ts";
import type { ClientUseStore } from "../../store/client_uses.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { LedgerStore } from "../../store/ledger.ts";
import {
  GRANTS_READ,
  parsePlace,
  type PeopleStore,
  type Person,
  printPlace,
} from "../../store/people.ts";
import { isFailure } from "../../log/outcome.ts";
import {
  connectionInWords,
  countSessions,
  type WordSources,
} from "./grant_words.ts";

/** The most people of a page. */
const PEOPLE = 100;

/** The most connections shown of each; all of them end with their person. */
const CONNECTIONS = 20;

/** The most sessions counted of each. */
const SESSIONS = 200;

/** The sources of the operator's view. */
export interface OperatorSources extends WordSources {
  grants: Pick<GrantStore, "listOfSubject">;
  people: Pick<PeopleStore, "list">;
  attempts: Pick<AttemptStore, "list">;
  clients: Pick<ClientDirectory, "findRegistered">;
  clientUses: Pick<ClientUseStore, "find">;
  /** `OAUTH_CLIENTS`. */
  configured: readonly Client[];
  ledger?: LedgerStore;
}

type View = Omit<OperatorProps, "base" | "csrf" | "now">;

/**
 * Gathers what the section shows.
 *
 * @param after where this page of people begins, as the page before said
 */
export async function operatorView(
  sources: OperatorSources,
  filter: CallFilter,
  after?: string,
): Promise<View> {
  const [page, attempts, machines] = await Promise.all([
    sources.people.list({
      search: filter.person,
      after: parsePlace(after),
      most: PEOPLE,
    }),
    sources.attempts.list(),
    machinesOf(sources),
  ]);
  const { people, next, gathering } = page;
  const shown = people.flatMap(({ grants }) => grants.slice(0, CONNECTIONS));
  const [registered, calls, inWords, clients] = await Promise.all([
    registeredClients(sources, shown),
    callsOf(sources, shown, filter),
    Promise.all(people.map((person) => personInWords(person, sources))),
    Promise.all(sources.configured.map(async (client) => ({
      clientId: client.clientId,
      clientName: clientName(client),
      grantTypes: client.metadata.grant_types,
      usedAt: await sources.clientUses.find(client.clientId),
      redirectUris: client.metadata.redirect_uris,
    }))),
  ]);
  return {
    people: {
      people: inWords,
      search: filter.person,
      isFirst: after === undefined,
      next: next && printPlace(next),
      gathering,
    },
    machines,
    clients,
    attempts,
    calls: calls && { calls, filter, isCut: next !== undefined },
    registrations: registered.map((client) => ({
      clientId: shortClientId(client.clientId),
      clientName: clientName(client),
      issuedAt: client.issuedAt,
      usedAt: Math.max(
        ...shown.filter(({ clientId }) => clientId === client.clientId)
          .map(({ usedAt }) => usedAt),
      ),
      redirectUris: client.metadata.redirect_uris,
    })),
  };
}

async function personInWords(
  { subject, grants }: Person,
  sources: WordSources,
) {
  // The newest sign-in of each connection stands for all of them.
  const signIns = Map.groupBy(
    grants,
    ({ id, kind, clientId }) => kind === undefined ? clientId : id,
  );
  const connections = [...signIns.values()];
  const shown = connections.slice(0, CONNECTIONS).flat();
  const sessions = await countSessions(shown, sources, SESSIONS);
  return {
    subject,
    name: nameOf(grants[0]),
    email: grants[0].identity.email,
    count: connections.length,
    isMore: grants.length >= GRANTS_READ,
    grants: connections.slice(0, CONNECTIONS).map((held) => ({
      ...connectionInWords(held[0], sources, { sessions }),
      usedAt: Math.max(...held.map(({ usedAt }) => usedAt)),
      sessions: held.reduce(
        (sum, { id }) => sum + (sessions.of.get(id) ?? 0),
        0,
      ),
      clientName: clientNameOf(held[0]),
      signIns: held.length,
    })),
  };
}

/** The machines of `OAUTH_CLIENTS`, with the tokens that they hold. */
async function machinesOf(
  { configured, grants }: OperatorSources,
): Promise<OperatorMachine[]> {
  return await Promise.all(
    configured.filter(isMachine).map(async (machine) => {
      const subject = machineSubject(machine.clientId);
      const held = await grants.listOfSubject(subject, GRANTS_READ);
      return {
        subject,
        name: clientName(machine),
        tokens: held.length,
        isMore: held.length >= GRANTS_READ,
        usedAt: held.at(0)?.createdAt,
      };
    }),
  );
}

/** The registrations behind grants, newest first; documents are not read. */
async function registeredClients(
  { clients }: OperatorSources,
  shown: readonly Grant[],
): Promise<Client[]> {
  const ids = new Set(
    shown.filter(({ kind }) => kind === undefined)
      .map(({ clientId }) => clientId),
  );
  const found = await Promise.all(
    [...ids].map((clientId) => clients.findRegistered(clientId)),
  );
  return found.filter((client) => client !== undefined)
    .sort((a, b) => b.issuedAt - a.issuedAt);
}

/** Lists the calls that an operator asks for; undefined if none are kept. */
async function callsOf(
  { ledger, configured }: OperatorSources,
  shown: readonly Grant[],
  { person, client, outcome }: CallFilter,
): Promise<OperatorCall[] | undefined> {
  if (!ledger) return undefined;
  const owners = new Map([
    // A machine's calls are kept longer than its grants.
    ...configured.filter(isMachine).map((machine) => {
      const name = clientName(machine);
      const owner = { person: name, client: name };
      return [machineSubject(machine.clientId), owner] as const;
    }).filter(([, owner]) => holds(owner.person, person)),
    ...shown.map((grant) => {
      const owner = { person: nameOf(grant), client: clientNameOf(grant) };
      return [ledgerIdOf(grant), owner] as const;
    }),
  ].filter(([, owner]) => holds(owner.client, client)));
  const ledgers = await ledger.list([...owners.keys()]);
  const calls = [...owners.values()].flatMap((owner, index) =>
    ledgers[index].map((call) => ({ ...call, ...owner }))
  );
  return failuresFirst(calls).filter((call) =>
    outcome === undefined || isFailure(call.outcome) === (outcome === "failed")
  );
}

function holds(name: string, part = ""): boolean {
  return name.toLowerCase().includes(part.trim().toLowerCase());
}

function clientNameOf({ kind, clientName }: Grant): string {
  return kind === "token" ? `${clientName} (access token)` : clientName;
}
