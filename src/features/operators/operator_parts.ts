/**
 * The operators' parts of the account page: all people's connections,
 * configured clients, attempts to connect, and durable work.
 *
 * @module
 */
import {
  OperatorAttempts,
  OperatorClients,
  OperatorWork,
} from "./operator_sections.tsx";
import {
  MAX_GRANTS_READ,
  parseCursor,
  type PersonGrants,
  printCursor,
} from "../../core/store/people.ts";
import { workOf } from "../work/work_stores.ts";
import { workAhead } from "../work/run_record.ts";
import type { Client } from "../../core/oauth/client.ts";
import { isMachine } from "../../core/oauth/configured_client.ts";
import { machineSubject } from "../../core/oauth/subject.ts";
import type {
  AccountPagePart,
  AccountPageServices,
} from "../account_page/account_pages.ts";
import { OperatorPeople } from "./operator_people.tsx";
import type { Grant } from "../../core/oauth/grant.ts";
import { personName } from "../../core/oauth/person.ts";
import { clientNameOf } from "../account_page/client_words.ts";
import {
  connectionInWords,
  sessionCounts,
} from "../account_page/connections_part.ts";

/** Makes `/account/clients`: the clients of `OAUTH_CLIENTS`. */
export function clientsPart(
  { grants, clientUses, configured }: AccountPageServices,
): AccountPagePart {
  async function tokensOf(client: Client) {
    const subject = machineSubject(client.clientId);
    const issued = await grants.listOfSubject(subject, MAX_GRANTS_READ);
    return {
      client,
      tokens: issued.length,
      isMore: issued.length >= MAX_GRANTS_READ,
      usedAt: issued.at(0)?.createdAt,
    };
  }

  return {
    name: "clients",
    label: "Clients",
    title: "Clients you set up",
    isForOperators: true,

    async show({ form, now }) {
      const [machines, clients] = await Promise.all([
        Promise.all(configured.filter(isMachine).map(tokensOf)),
        Promise.all(configured.map(async (client) => ({
          client,
          usedAt: await clientUses.find(client.clientId),
        }))),
      ]);
      return OperatorClients({ ...form, machines, clients, now });
    },
  };
}

/**
 * Makes `/account/attempts`: the last attempts to connect, and why they failed.
 */
export function attemptsPart(
  { attempts }: AccountPageServices,
): AccountPagePart {
  return {
    name: "attempts",
    label: "Attempts",
    title: "The last attempts to connect",
    isForOperators: true,
    show: async ({ now }) =>
      OperatorAttempts({ attempts: await attempts.list(), now }),
  };
}

const MAX_WAKES = 200;

/** Makes `/account/durable`: the durable work of all people. */
export function durablePart(
  { database, server, titleOf }: AccountPageServices,
): AccountPagePart {
  return {
    name: "durable",
    label: "Durable work",
    title: "Everyone’s durable work",
    isForOperators: true,

    async show({ now }) {
      const [{ work, hasMore }, failures] = await Promise.all([
        workAhead(database, MAX_WAKES),
        workOf(server).failures.list(),
      ]);
      const titled = <T extends { tool: string }>(one: T) => ({
        ...one,
        toolTitle: titleOf(one.tool),
      });
      return OperatorWork({
        work: work.map(titled),
        hasMore,
        wakes: MAX_WAKES,
        failures: failures.map(titled),
        now,
      });
    },
  };
}

/** The maximum number of people on a page. */
const MAX_PEOPLE = 100;

/**
 * The maximum number of connections shown for each person. The End everything
 * button ends all.
 */
const MAX_CONNECTIONS = 20;

/** The maximum number of MCP sessions counted for a person at one resource. */
const MAX_SESSIONS = 200;

export function peoplePart(services: AccountPageServices): AccountPagePart {
  return {
    name: "people",
    label: "People",
    title: "Everyone’s connections",
    isForOperators: true,
    query: ["person", "after"],

    async show({ query: { person: search, after }, form, now }) {
      const { people, next } = await services.people.list({
        search,
        after: parseCursor(after),
        most: MAX_PEOPLE,
      });
      const shown = people.flatMap(({ grants }) =>
        grants.slice(0, MAX_CONNECTIONS)
      );
      const [registered, inWords] = await Promise.all([
        registeredClients(services, shown),
        Promise.all(people.map((person) => personInWords(person, services))),
      ]);
      return OperatorPeople({
        ...form,
        people: inWords,
        search,
        isFirst: after === undefined,
        next: next && printCursor(next),
        registrations: registered.map((client) => ({
          client,
          usedAt: Math.max(
            ...shown.filter(({ clientId }) => clientId === client.clientId)
              .map(({ usedAt }) => usedAt),
          ),
        })),
        now,
      });
    },
  };
}

async function personInWords(
  { subject, grants }: PersonGrants,
  services: AccountPageServices,
) {
  // Each connection is shown by its newest sign-in.
  const signIns = Map.groupBy(
    grants,
    ({ id, kind, clientId }) => kind === undefined ? clientId : id,
  );
  const shown = [...signIns.values()].slice(0, MAX_CONNECTIONS);
  const sessions = await sessionCounts(services, MAX_SESSIONS).of(shown.flat());
  return {
    subject,
    name: personName(grants[0]),
    email: grants[0].identity.email,
    count: signIns.size,
    isMore: grants.length >= MAX_GRANTS_READ,
    grants: shown.map((connection) => ({
      ...connectionInWords(connection[0], services, sessions),
      usedAt: Math.max(...connection.map(({ usedAt }) => usedAt)),
      sessions: connection.reduce(
        (sum, { id }) => sum + (sessions.of.get(id) ?? 0),
        0,
      ),
      clientName: clientNameOf(connection[0]),
      signIns: connection.length,
    })),
  };
}

/**
 * Lists the clients of grants that were registered dynamically, newest first.
 * No client ID metadata document is read.
 */
async function registeredClients(
  { clients }: AccountPageServices,
  shown: readonly Grant[],
): Promise<Client[]> {
  const ids = new Set(shown.map(({ clientId }) => clientId));
  const found = await Promise.all([...ids].map(clients.findRegistered));
  return found.filter((client) => client !== undefined)
    .sort((a, b) => b.issuedAt - a.issuedAt);
}
