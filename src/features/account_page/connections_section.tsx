/** @jsxImportSource @hono/hono/jsx */
/**
 * The list of a person's connected clients, with forms to change and end them.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import { type Grant, hasSingleToken } from "../../core/oauth/grant.ts";
import type { Lifetimes } from "../../core/oauth/lifetimes.ts";
import {
  type ClientInWords,
  ClientName,
  destinationOf,
  displayName,
  DomainBadge,
  type ToolInWords,
} from "../../core/pages/names.tsx";
import { ConnectionRow } from "./connection_forms.tsx";
import type { FormPage } from "../../core/pages/layout.tsx";
import { PastTime, printDuration } from "../../core/pages/times.tsx";
import { MayUse } from "../../core/pages/scope_boxes.tsx";
import type { ScopeInWords } from "../../core/pages/scopes.ts";

/** A grant, as the account page shows it. */
export interface GrantInWords extends
  Pick<
    Grant,
    "id" | "kind" | "createdAt" | "usedAt" | "redirectUri" | "pausedAt"
  > {
  scopes: readonly ScopeInWords[];
  sessions: number;
  /** True if there may be more sessions than were counted. */
  hasMoreSessions?: boolean;
}

/** A client with all its sign-ins. */
interface ConnectedClient extends ClientInWords {
  /** The client's sign-ins, newest first. */
  signIns: readonly GrantInWords[];
  /** The tools that the client may call as the person. */
  tools?: readonly ToolInWords[];
  /** The URL of the client's latest calls. Undefined if no calls are stored. */
  callsHref?: string;
}

export interface ConnectionsProps extends FormPage {
  providerName: string;
  clients: readonly ConnectedClient[];
  lifetimes: Pick<Lifetimes, "grantSeconds" | "idleSeconds">;
  waiting?: Child;
  sections?: Child;
  /** The number of grants that were read. Undefined if these are all. */
  most?: number;
  now: number;
}

export function ConnectionsSection(
  { providerName, clients, lifetimes, waiting, sections, most, now, ...form }:
    ConnectionsProps,
) {
  return (
    <>
      {waiting}
      {sections}
      <section>
        {waiting && <h2>Connected</h2>}
        <p class="small soft">
          Ending a connection does not tell{" "}
          {providerName}: what you allowed this server to do there goes on until
          you end it there. A connection ends by itself{" "}
          {printDuration(lifetimes.grantSeconds)} after its sign-in, or{" "}
          {printDuration(lifetimes.idleSeconds)} after it was used last.
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

/** A note that a list is incomplete. */
export function CutNote({ most }: { most?: number }) {
  if (most === undefined) return null;
  return (
    <p class="note" role="status">
      These are of the first {most}{" "}
      of your connections and access tokens: end some to see the others.
    </p>
  );
}

/** The number of a client's sign-ins shown without a click. */
const MAX_SIGN_INS = 3;

function ClientRow(
  { client, now, ...form }: FormPage & { client: ConnectedClient; now: number },
) {
  const { signIns } = client;
  const [newest] = signIns;
  const count = signIns.length;
  const ends = (count > 1 ? `All ${count} of its sign-ins end` : "It ends") +
    ", with its sessions and tasks. That cannot be undone: " +
    (hasSingleToken(newest)
      ? "it has to get another permission."
      : "it has to ask you again.");
  const scopes = new Map(
    signIns.filter((connection) => !hasSingleToken(connection))
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
      grantIds={hasSingleToken(newest)
        ? signIns.map(({ id }) => id)
        : [newest.id]}
      hasSingleToken={hasSingleToken(newest)}
      ends={ends}
      isPaused={signIns.some((it) => it.pausedAt !== undefined)}
      scopes={[...scopes.values()]}
      tools={client.tools}
      callsHref={client.callsHref}
    >
      {signIns.length > 1 && (
        <p class="small soft">
          {signIns.length}{" "}
          sign-ins, of as many devices or windows. The buttons act on all of
          them.
        </p>
      )}
      <SignIns of={signIns.slice(0, MAX_SIGN_INS)} now={now} />
      {signIns.length > MAX_SIGN_INS && (
        <details class="small">
          <summary>
            {`Older sign-ins (${signIns.length - MAX_SIGN_INS})`}
          </summary>
          <SignIns of={signIns.slice(MAX_SIGN_INS)} now={now} />
        </details>
      )}
    </ConnectionRow>
  );
}

export function PausedBadge() {
  return <span class="badge held">Paused</span>;
}

/** A note that a connection is paused, and since when. */
export function PausedNote({ at, now }: { at?: number; now: number }) {
  if (at === undefined) return null;
  return (
    <>
      <PausedBadge /> <PastTime at={at} now={now} />
      <br />
    </>
  );
}

function SignIns(
  { of, now }: { of: readonly GrantInWords[]; now: number },
) {
  return (
    <>
      {of.map((connection) => (
        <div class="sign-in">
          <ConnectionFacts connection={connection} now={now} />
        </div>
      ))}
    </>
  );
}

function ConnectionFacts(
  { connection, now }: { connection: GrantInWords; now: number },
) {
  const { createdAt, usedAt, scopes, sessions, redirectUri } = connection;
  const least = connection.hasMoreSessions ? "at least " : "";
  return (
    <>
      <p class="small soft">
        <PausedNote at={connection.pausedAt} now={now} />
        {redirectUri && (
          <>
            Connected to <strong>{destinationOf(redirectUri)}</strong>
            <br />
          </>
        )}
        Last used <PastTime at={usedAt} now={now} />, connected{" "}
        <PastTime at={createdAt} now={now} />
        {sessions > 0 &&
          `, ${least}${sessions} open session${sessions > 1 ? "s" : ""}`}
      </p>
      <MayUse scopes={scopes} />
    </>
  );
}
