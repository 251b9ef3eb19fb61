/**
 * `GET /account`: the connections of a person's clients.
 *
 * @module
 */
import { bindingAt, type Grant } from "../rules/grant.ts";
import { ConnectionsSection } from "../../pages/connections_section.tsx";
import { WaitingSection } from "../../pages/wait_page.tsx";
import type { AccountPart } from "./account_pages.ts";
import type { LimitedServices } from "../services.ts";
import { callsHref } from "./calls_part.ts";
import {
  clientInWords,
  connectionInWords,
  ownGrants,
  sessionCounts,
} from "./own_grants.ts";
import { waitsInWords } from "./waits.ts";

export function connectionsPart(services: LimitedServices): AccountPart {
  const { baseUrl, lifetimes } = services;
  return {
    name: "",
    label: "Connections",
    title: "Your connections",

    async show(visit) {
      const { session: { subject }, providerName, form, now } = visit;
      const counts = sessionCounts(services);
      // Sessions are most likely under this binding: they are read at the same
      // time as the grants.
      counts.begin(bindingAt(baseUrl, subject));
      const [{ own, most }, waits] = await Promise.all([
        ownGrants(subject, services),
        waitsInWords(subject, services),
      ]);
      const connections = own.filter(({ kind }) => kind !== "token");
      const sessions = await counts.of(connections);
      return ConnectionsSection({
        ...form,
        waiting: WaitingSection({ base: form.base, waits, now }),
        providerName,
        clients: byClient(connections).map((held) => ({
          ...clientInWords(held[0], services),
          connections: held.map((grant) =>
            connectionInWords(grant, services, sessions)
          ),
          callsHref: services.ledger && callsHref(visit, held[0].clientName),
        })),
        lifetimes,
        most,
        now,
      });
    },
  };
}

/** Groups sign-ins under the connection that they are of, newest first. */
function byClient(grants: readonly Grant[]): Grant[][] {
  const groups = Map.groupBy(
    grants,
    ({ kind = "", clientId }) => `${kind} ${clientId}`,
  );
  return [...groups.values()];
}
