/** @jsxImportSource @hono/hono/jsx */
/**
 * The account page: which clients are connected in a person's name, and the
 * means to end each of them.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import type { Lifetimes } from "../auth/rules/lifetimes.ts";
import { destinationOf } from "./destination.ts";
import { ConnectionButtons, NarrowForm } from "./connection_forms.tsx";
import type { ScopeInWords } from "./consent_page.tsx";
import { displayName } from "./display_name.ts";
import { type CallInWords, LatestCalls } from "./latest_calls.tsx";
import { Layout, type PageProps } from "./layout.tsx";
import { Moment } from "./moment.tsx";
import { COPY_SCRIPT } from "./scripts.ts";

/** One grant, for the page of its person. Times are epoch seconds. */
export interface ConnectionInWords {
  grantId: string;
  createdAt: number;
  usedAt: number;
  scopes: readonly ScopeInWords[];
  /** The redirect URI of its authorization; older grants have none. */
  redirectUri?: string;
  /** Sessions that are open now. */
  sessions: number;
  /** True if there may be more of them than were counted. */
  hasMoreSessions?: boolean;
  /** Undefined: it is not paused. */
  pausedAt?: number;
  /** True if its client gets another grant without asking. */
  isPassing?: boolean;
  /** The scopes that the person can take away. */
  removable?: readonly ScopeInWords[];
  /** Newest first; undefined where none are kept. */
  calls?: readonly CallInWords[];
}

/** A person's change of a connection that goes on. */
export type Changed = keyof typeof CHANGED;

const CHANGED = {
  paused: "Paused. The app is refused until you resume it.",
  resumed: "Resumed. The app can go on as before.",
  narrowed: "Taken away. To get them back, the app has to ask you again.",
};

/** True if the text names a change of a connection. */
export function isChanged(text: string | undefined): text is Changed {
  return text !== undefined && Object.hasOwn(CHANGED, text);
}

/** A connection: a client, and all its sign-ins. */
export interface ConnectedClient {
  clientId: string;
  /** The client's name for itself; cleaned before it is shown. */
  name: string;
  /** True if the operator set it up. */
  isConfigured?: boolean;
  /** The verified domain of its metadata document. */
  domain?: string;
  /** Its sign-ins, newest first. */
  connections: readonly ConnectionInWords[];
}

/** The contents of the page. */
export interface AccountProps extends PageProps {
  /** Path of the public address; empty at a root. */
  base?: string;
  /** The signed-in person's name at the provider. */
  person: string;
  providerName: string;
  clients: readonly ConnectedClient[];
  /** The CSRF token for every form of this rendering. */
  csrf: string;
  /** Epoch seconds. */
  now: number;
  /** By default those of a server where none are set. */
  lifetimes: Pick<Lifetimes, "grantSeconds" | "idleSeconds">;
  /** The number of connections that were ended just now. */
  ended?: number;
  /** The change that was made just now. */
  changed?: Changed;
  /** The number of connections and tokens shown, where there may be more. */
  most?: number;
  /** The questions that wait for the person. */
  waiting?: Child;
  /** The access tokens that the person made. */
  tokens?: Child;
  /** The part that only an operator sees. */
  children?: Child;
}

/** The clients connected in a person's name. Send it with `forms: "self"`. */
export function AccountPage(props: AccountProps) {
  const { base = "", serverTitle, about, person, providerName } = props;
  const { clients, csrf, now, lifetimes } = props;
  return (
    <Layout
      title="Your connections"
      serverTitle={serverTitle}
      about={about}
      width={props.children ? "full" : "wide"}
      script={COPY_SCRIPT}
    >
      <main>
        <h1>Your connections</h1>
        <div class="row-head">
          <p class="soft">
            Signed in as{" "}
            <strong>
              <bdi>{displayName(person)}</bdi>
            </strong>{" "}
            with {providerName}
          </p>
          <form method="post" action={`${base}/account/sign-out`}>
            <input type="hidden" name="csrf" value={csrf} />
            <button class="quiet" type="submit">Sign out</button>
          </form>
        </div>
        <p class="small soft">
          Ending a connection tells {providerName}{" "}
          nothing: what you allowed this server there is ended there. A
          connection ends by itself {lifetimes.grantSeconds / 86_400}{" "}
          days after its sign-in, or {lifetimes.idleSeconds / 86_400}{" "}
          days after it was used last.
        </p>
        {props.ended !== undefined && (
          <p class="note good" role="status">
            {props.ended === 0
              ? "That connection had already ended."
              : "Ended. The app has to ask again before it can come back."}
          </p>
        )}
        {props.changed && (
          <p class="note good" role="status">{CHANGED[props.changed]}</p>
        )}
        {props.most !== undefined && (
          <p class="note" role="status">
            These are {props.most}{" "}
            of your connections and access tokens: end some to see the others.
          </p>
        )}
        {props.waiting}
        {props.waiting && <h2>Connected</h2>}
        <div class="card">
          {clients.length === 0
            ? (
              <>
                <p>No app is connected in your name.</p>
                <p>
                  <a class="button" href={`${base}/`}>Connect one</a>
                </p>
              </>
            )
            : (
              <ul class="rows">
                {clients.map((client) => (
                  <ClientRow
                    base={base}
                    client={client}
                    csrf={csrf}
                    now={now}
                  />
                ))}
              </ul>
            )}
        </div>
        {props.tokens}
        {props.children}
      </main>
    </Layout>
  );
}

function ClientRow(
  { base, client, csrf, now }: {
    base: string;
    client: ConnectedClient;
    csrf: string;
    now: number;
  },
) {
  const { connections } = client;
  const name = displayName(client.name);
  const [newest] = connections;
  const removable = new Map(
    connections.flatMap(({ removable = [] }) =>
      removable.map((words) => [words.scope, words])
    ),
  );
  return (
    <li>
      <div class="row-head">
        <h2 class="row-title">
          “<bdi>{name}</bdi>” {client.isConfigured
            ? <span class="badge good">Set up by the operator</span>
            : client.domain
            ? <span class="badge good">{client.domain}</span>
            : <span class="badge warn">Unverified</span>}
        </h2>
        <ConnectionButtons
          base={base}
          connection={{
            ...newest,
            pausedAt: connections.find((it) => it.pausedAt !== undefined)
              ?.pausedAt,
          }}
          grantIds={newest.isPassing
            ? connections.map(({ grantId }) => grantId)
            : undefined}
          csrf={csrf}
          of={name}
        />
      </div>
      {connections.length > 1 && (
        <p class="small soft">
          {connections.length}{" "}
          sign-ins, of as many devices or windows. The buttons act on all of
          them.
        </p>
      )}
      {connections.map((connection, index) => (
        <>
          <ConnectionFacts connection={connection} now={now} />
          <LatestCalls
            calls={connection.calls}
            now={now}
            of={connections.length === 1
              ? name
              : `${name}, sign-in ${index + 1}`}
          />
        </>
      ))}
      <NarrowForm
        base={base}
        grantId={newest.grantId}
        removable={[...removable.values()]}
        csrf={csrf}
        of={name}
      />
    </li>
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

/** The account page for a person who has not signed in. `forms: "any"`. */
export function SignInPage(
  { base = "", serverTitle, about, providerName }: PageProps & {
    base?: string;
    providerName: string;
  },
) {
  return (
    <Layout
      title="Your connections"
      serverTitle={serverTitle}
      about={about}
    >
      <main class="card">
        <h1>Your connections</h1>
        <p class="lead">
          Sign in to see which apps are connected in your name, and to end any
          of them.
        </p>
        <form method="post" action={`${base}/account/sign-in`}>
          <div class="actions">
            <button class="primary" type="submit">
              Sign in with {providerName}
            </button>
          </div>
        </form>
      </main>
    </Layout>
  );
}
