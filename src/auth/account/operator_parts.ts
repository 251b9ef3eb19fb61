/**
 * The parts of the account page for operators but that of people: clients that
 * they set up, attempts to connect, and durable work.
 *
 * @module
 */
import {
  OperatorAttempts,
  OperatorClients,
  OperatorWork,
} from "../../pages/operator_sections.tsx";
import { GRANTS_READ } from "../../store/people.ts";
import { workAhead } from "../../store/work_ahead.ts";
import type { Client } from "../rules/client.ts";
import { isMachine } from "../rules/configured_client.ts";
import { machineSubject } from "../rules/subject.ts";
import type { AccountPart } from "./account_pages.ts";
import type { LimitedServices } from "../services.ts";

/** Makes `/account/clients`: the clients of `OAUTH_CLIENTS`. */
export function clientsPart(
  { grants, clientUses, configured }: LimitedServices,
): AccountPart {
  async function tokensOf(client: Client) {
    const subject = machineSubject(client.clientId);
    const held = await grants.listOfSubject(subject, GRANTS_READ);
    return {
      client,
      tokens: held.length,
      isMore: held.length >= GRANTS_READ,
      usedAt: held.at(0)?.createdAt,
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

/** Makes `/account/attempts`: why the last attempts to connect failed. */
export function attemptsPart({ attempts }: LimitedServices): AccountPart {
  return {
    name: "attempts",
    label: "Attempts",
    title: "The last attempts to connect",
    isForOperators: true,
    show: async ({ now }) =>
      OperatorAttempts({ attempts: await attempts.list(), now }),
  };
}

/** The most wakes that a page reads. */
const MOST_WAKES = 200;

/** Makes `/account/durable`: the durable work of everyone. */
export function durablePart(
  { database, stepFailures }: LimitedServices,
): AccountPart {
  return {
    name: "durable",
    label: "Durable work",
    title: "Everyone’s durable work",
    isForOperators: true,

    async show({ now }) {
      const [{ work, isCut }, failures] = await Promise.all([
        workAhead(database, MOST_WAKES),
        stepFailures.list(),
      ]);
      return OperatorWork({ work, isCut, wakes: MOST_WAKES, failures, now });
    },
  };
}
