/**
 * The operator's part of the account page: everyone's connections and calls,
 * the clients, and the last attempts to connect.
 *
 * @module
 */
import type { ClientDirectory } from "../authorization_server/client_directory.ts";
import { type Client, clientName } from "../oauth/client.ts";
import { shortClientId } from "../oauth/client_id.ts";
import { isMachine } from "../oauth/configured_client.ts";
import { type Grant, ledgerIdOf } from "../oauth/grant.ts";
import { machineSubject } from "../oauth/subject.ts";
import type { CallFilter, OperatorCall } from "../pages/operator_calls.tsx";
import type { OperatorProps } from "../pages/operator_section.tsx";
import type { AttemptStore } from "../store/attempts.ts";
import { failuresFirst } from "../store/call_list.ts";
import type { ClientUseStore } from "../store/client_uses.ts";
import type { GrantStore } from "../store/grants.ts";
import type { LedgerStore } from "../store/ledger.ts";
import { isFailure } from "../outcome.ts";
import { connectionInWords, nameOf, type WordSources } from "./grant_words.ts";

/** The sources of the operator's view. */
export interface OperatorSources extends WordSources {
  grants: Pick<GrantStore, "list">;
  attempts: Pick<AttemptStore, "list">;
  clients: Pick<ClientDirectory, "findRegistered">;
  clientUses: Pick<ClientUseStore, "find">;
  /** `OAUTH_CLIENTS`. */
  configured: readonly Client[];
  ledger?: LedgerStore;
}

type View = Omit<OperatorProps, "base" | "csrf" | "now">;

/** Gathers the contents of the section. */
export async function operatorView(
  sources: OperatorSources,
  filter: CallFilter,
): Promise<View> {
  const [everybodys, attempts] = await Promise.all([
    sources.grants.list(),
    sources.attempts.list(),
  ]);
  const [registered, calls, grants, clients] = await Promise.all([
    registeredClients(sources, everybodys),
    callsOf(sources, everybodys, filter),
    Promise.all(everybodys.map(async (grant) => ({
      ...await connectionInWords(grant, sources),
      subject: grant.subject,
      person: nameOf(grant),
      clientName: clientNameOf(grant),
    }))),
    Promise.all(sources.configured.map(async (client) => ({
      clientId: client.clientId,
      clientName: clientName(client),
      grantTypes: client.metadata.grant_types,
      usedAt: await sources.clientUses.find(client.clientId),
      redirectUris: client.metadata.redirect_uris,
    }))),
  ]);
  return {
    grants,
    clients,
    attempts,
    calls: calls && { calls, filter },
    registrations: registered.map((client) => ({
      clientId: shortClientId(client.clientId),
      clientName: clientName(client),
      issuedAt: client.issuedAt,
      usedAt: Math.max(
        ...everybodys.filter(({ clientId }) => clientId === client.clientId)
          .map(({ usedAt }) => usedAt),
      ),
      redirectUris: client.metadata.redirect_uris,
    })),
  };
}

/**
 * Lists the registrations behind grants, newest first; documents are not read.
 */
async function registeredClients(
  { clients }: OperatorSources,
  everybodys: readonly Grant[],
): Promise<Client[]> {
  const ids = new Set(
    everybodys.filter(({ kind }) => kind === undefined)
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
  everybodys: readonly Grant[],
  { person, client, outcome }: CallFilter,
): Promise<OperatorCall[] | undefined> {
  if (!ledger) return undefined;
  const owners = new Map([
    // A machine's calls are kept longer than its grants.
    ...configured.filter(isMachine).map((machine) => {
      const name = clientName(machine);
      const owner = { person: name, client: name };
      return [machineSubject(machine.clientId), owner] as const;
    }),
    ...everybodys.map((grant) => {
      const owner = { person: nameOf(grant), client: clientNameOf(grant) };
      return [ledgerIdOf(grant), owner] as const;
    }),
  ].filter(([, owner]) =>
    holds(owner.person, person) && holds(owner.client, client)
  ));
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
