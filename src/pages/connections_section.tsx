/** @jsxImportSource @hono/hono/jsx */
/**
 * The clients that are connected in a person's name, and the means to change
 * and end each of them.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import type { Grant } from "../auth/rules/grant.ts";
import type { Lifetimes } from "../auth/rules/lifetimes.ts";
import {
  type AskingClient,
  ClientName,
  destinationOf,
  DomainBadge,
} from "./client_name.tsx";
import { ConnectionButtons, NarrowForm } from "./connection_forms.tsx";
import { displayName } from "./display_name.ts";
import type { FormPage } from "./form.tsx";
import { Moment } from "./moment.tsx";
import type { ScopeInWords } from "./scope_boxes.tsx";

/** One grant, for the page of its person. */
export interface ConnectionInWords
  extends Pick<Grant, "createdAt" | "usedAt" | "redirectUri" | "pausedAt"> {
  grantId: string;
  scopes: readonly ScopeInWords[];
  /** Sessions that are open now. */
  sessions: number;
  /** True if there may be more of them than were counted. */
  hasMoreSessions?: boolean;
  /** True if its client gets another grant without asking. */
  isPassing?: boolean;
}

/** A connection: a client, and all its sign-ins. */
interface ConnectedClient extends AskingClient {
  /** Its sign-ins, newest first. */
  connections: readonly ConnectionInWords[];
  /** The address of its latest calls; undefined where none are kept. */
  callsHref?: string;
}

/** The contents of the section. */
export interface ConnectionsProps extends FormPage {
  providerName: string;
  clients: readonly ConnectedClient[];
  /** The lifetimes that a connection has here. */
  lifetimes: Pick<Lifetimes, "grantSeconds" | "idleSeconds">;
  /** The questions that wait for the person. */
  waiting?: Child;
  /** The number of sign-ins shown, where there may be more. */
  most?: number;
  now: number;
}

/** The clients connected in a person's name. */
export function ConnectionsSection(
  { providerName, clients, lifetimes, waiting, most, now, ...form }:
    ConnectionsProps,
) {
  return (
    <>
      {waiting}
      <section>
        {waiting && <h2>Connected</h2>}
        <p class="small soft">
          Ending a connection does not tell{" "}
          {providerName}: what you allowed this server to do there goes on until
          you end it there. A connection ends by itself{" "}
          {lifetimes.grantSeconds / 86_400} days after its sign-in, or{" "}
          {lifetimes.idleSeconds / 86_400} days after it was used last.
        </p>
        <CutNote most={most} />
        <div class="card">
          {clients.length === 0
            ? (
              <>
                <p>No app is connected in your name.</p>
                <p>
                  <a class="button" href={`${form.base ?? ""}/`}>Connect one</a>
                </p>
              </>
            )
            : (
              <ul class="rows">
                {clients.map((client) => (
                  <ClientRow {...form} client={client} now={now} />
                ))}
              </ul>
            )}
        </div>
      </section>
    </>
  );
}

/** A note that a list is cut. */
export function CutNote({ most }: { most?: number }) {
  if (most === undefined) return null;
  return (
    <p class="note" role="status">
      These are of the first {most}{" "}
      of your connections and access tokens: end some to see the others.
    </p>
  );
}

/** The row of a connection or an access token, with its buttons. */
export function ConnectionRow(
  { name, title, connection, grantIds, scopes, callsHref, children, ...form }:
    & FormPage
    & Pick<Parameters<typeof ConnectionButtons>[0], "connection" | "grantIds">
    & {
      name: string;
      /** The name, as the row shows it. */
      title: Child;
      /** The scopes that the person may take away. */
      scopes: readonly ScopeInWords[];
      /** The address of its latest calls; undefined where none are kept. */
      callsHref?: string;
      children: Child;
    },
) {
  const { grantId } = connection;
  return (
    <li>
      <div class="row-head">
        <h2 class="row-title">{title}</h2>
        <ConnectionButtons
          {...form}
          connection={connection}
          grantIds={grantIds}
          of={name}
        />
      </div>
      {children}
      {callsHref !== undefined && (
        <p class="small">
          <a href={callsHref}>
            Latest calls<span class="visually-hidden">{` of ${name}`}</span>
          </a>
        </p>
      )}
      <NarrowForm {...form} grantId={grantId} scopes={scopes} of={name} />
    </li>
  );
}

function ClientRow(
  { client, now, ...form }: FormPage & { client: ConnectedClient; now: number },
) {
  const { connections } = client;
  const [newest] = connections;
  const scopes = new Map(
    connections.filter(({ isPassing }) => !isPassing)
      .flatMap(({ scopes }) => scopes.map((words) => [words.scope, words])),
  );
  return (
    <ConnectionRow
      {...form}
      name={displayName(client.name)}
      title={
        <>
          <ClientName name={client.name} /> {client.isKnown
            ? <span class="badge good">Set up by the operator</span>
            : <DomainBadge domain={client.domain} />}
        </>
      }
      connection={{
        ...newest,
        pausedAt: connections.find((it) => it.pausedAt !== undefined)?.pausedAt,
      }}
      grantIds={newest.isPassing
        ? connections.map(({ grantId }) => grantId)
        : undefined}
      scopes={[...scopes.values()]}
      callsHref={client.callsHref}
    >
      {connections.length > 1 && (
        <p class="small soft">
          {connections.length}{" "}
          sign-ins, of as many devices or windows. The buttons act on all of
          them.
        </p>
      )}
      {connections.map((connection) => (
        <ConnectionFacts connection={connection} now={now} />
      ))}
    </ConnectionRow>
  );
}

/** A note that a connection is paused, and since when. */
export function PausedNote({ at, now }: { at?: number; now: number }) {
  if (at === undefined) return null;
  return (
    <>
      <span class="badge warn">Paused</span> <Moment at={at} now={now} />
      <br />
    </>
  );
}

function ConnectionFacts(
  { connection, now }: { connection: ConnectionInWords; now: number },
) {
  const { createdAt, usedAt, scopes, sessions, redirectUri } = connection;
  const least = connection.hasMoreSessions ? "at least " : "";
  return (
    <p class="small soft">
      <PausedNote at={connection.pausedAt} now={now} />
      {redirectUri && (
        <>
          Connected to <strong>{destinationOf(redirectUri)}</strong>
          <br />
        </>
      )}
      Last used <Moment at={usedAt} now={now} />, connected{" "}
      <Moment at={createdAt} now={now} />
      {sessions > 0 &&
        `, ${least}${sessions} open session${sessions > 1 ? "s" : ""}`}
      <MayUse scopes={scopes} />
    </p>
  );
}

/** The most scopes whose words are shown without a click. */
const WORDS_SHOWN = 6;

/** The meaning of scopes, if there are any. */
export function MayUse({ scopes }: { scopes: readonly ScopeInWords[] }) {
  if (scopes.length === 0) return null;
  const more = scopes.length - WORDS_SHOWN;
  return (
    <>
      <br />
      It may: {scopes.slice(0, WORDS_SHOWN).map(({ scope, words }) => (
        <>
          {words} <code>{scope}</code>
          {" "}
        </>
      ))}
      {more > 0 && `and ${more} more`}
    </>
  );
}
