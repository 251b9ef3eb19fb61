/**
 * `GET /account/clients`: the clients of `OAUTH_CLIENTS`, for operators.
 *
 * @module
 */
import { OperatorClients } from "../../pages/operator_clients.tsx";
import type { ClientUseStore } from "../../store/client_uses.ts";
import type { GrantStore } from "../../store/grants.ts";
import { GRANTS_READ } from "../../store/people.ts";
import { type Client, clientName } from "../rules/client.ts";
import { isMachine } from "../rules/configured_client.ts";
import { machineSubject } from "../rules/subject.ts";
import type { AccountPart } from "./account_part.ts";

/** The sources of the clients that the operator set up. */
interface ClientSources {
  grants: Pick<GrantStore, "listOfSubject">;
  clientUses: Pick<ClientUseStore, "find">;
  /** `OAUTH_CLIENTS`. */
  configured: readonly Client[];
}

/** Makes the part. */
export function clientsPart(
  { grants, clientUses, configured }: ClientSources,
): AccountPart {
  async function machineInWords(machine: Client) {
    const subject = machineSubject(machine.clientId);
    const held = await grants.listOfSubject(subject, GRANTS_READ);
    return {
      subject,
      name: clientName(machine),
      tokens: held.length,
      isMore: held.length >= GRANTS_READ,
      usedAt: held.at(0)?.createdAt,
    };
  }

  async function clientInWords(client: Client) {
    return {
      clientId: client.clientId,
      clientName: clientName(client),
      grantTypes: client.metadata.grant_types,
      usedAt: await clientUses.find(client.clientId),
      redirectUris: client.metadata.redirect_uris,
    };
  }

  return {
    name: "clients",
    label: "Clients",
    title: "Clients you set up",
    isForOperators: true,

    async show({ form, now }) {
      const [machines, clients] = await Promise.all([
        Promise.all(configured.filter(isMachine).map(machineInWords)),
        Promise.all(configured.map(clientInWords)),
      ]);
      return OperatorClients({ ...form, machines, clients, now });
    },
  };
}
