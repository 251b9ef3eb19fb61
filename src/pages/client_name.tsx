/** @jsxImportSource @hono/hono/jsx */
/**
 * The names that clients have for themselves, how far they are verified, and
 * where their answers go.
 *
 * @module
 */
import { type Client, clientName } from "../auth/rules/client.ts";
import { shortClientId } from "../auth/rules/client_id.ts";
import { redirectKind } from "../auth/rules/redirect_uri.ts";
import { visible } from "../log/log_line.ts";
import { displayName } from "./display_name.ts";

/** A client that waits, in words. */
export interface AskingClient {
  /** The client's name for itself; cleaned before it is shown. */
  name: string;
  /** The verified domain of its metadata document. */
  domain?: string;
  /** True if the operator set it up, or the person made it. */
  isKnown?: boolean;
}

/** A client's name for itself, in quotation marks. */
export function ClientName({ name }: { name: string }) {
  return (
    <>
      “<bdi>{displayName(name)}</bdi>”
    </>
  );
}

/** The domain of a client, or that it has none. */
export function DomainBadge({ domain }: { domain?: string }) {
  return domain
    ? <span class="badge good">{domain}</span>
    : <span class="badge warn">Unverified</span>;
}

/** The name of a client, and how far it is verified. */
export function AskingName({ client }: { client: AskingClient }) {
  return (
    <>
      <ClientName name={client.name} />{" "}
      {!client.isKnown && <DomainBadge domain={client.domain} />}
    </>
  );
}

/** A client in a list for operators. */
export interface UsedClient {
  client: Client;
  /** Epoch seconds; undefined: not lately. */
  usedAt?: number;
}

/** The name of a client, and its ID below. */
export function ClientCell({ client }: Pick<UsedClient, "client">) {
  return (
    <>
      <ClientName name={clientName(client)} />
      <br />
      <code>{visible(shortClientId(client.clientId))}</code>
    </>
  );
}

/**
 * Names the destination, to tell clients of the same name apart: `claude.ai`,
 * `this device`.
 */
export function destinationOf(redirectUri: string): string {
  switch (redirectKind(redirectUri)) {
    case "https":
      return new URL(redirectUri).host;
    case "loopback":
      return `a program on the device, at ${
        redirectUri.replace(/^https?:\/\/([^/?]*).*$/s, "$1")
      }`;
    case "private-use":
      return `the app that opens ${
        redirectUri.slice(0, redirectUri.indexOf(":") + 1)
      } links`;
  }
}
