/** @jsxImportSource @hono/hono/jsx */
/**
 * The page of one question: who asks it, where its address leads, and the
 * person's answer.
 *
 * @module
 */
import { displayName } from "./display_name.ts";
import { Layout, type PageProps } from "./layout.tsx";

/** A client that waits, in words. */
export interface AskingClient {
  /** The client's name for itself; cleaned before it is shown. */
  name: string;
  /** The verified domain of its metadata document. */
  domain?: string;
  /** True if the operator set it up, or the person made it. */
  isKnown?: boolean;
}

/** The answers of a person. */
export type WaitAnswer = "done" | "not-now";

/** The members that every page about a wait has. */
interface WaitPageProps extends PageProps {
  /** Path of the public address; empty at a root. */
  base?: string;
}

/** The contents of the page. */
interface WaitProps extends WaitPageProps {
  id: string;
  person: string;
  client: AskingClient;
  tool: string;
  /** The author's words. */
  message: string;
  /** An https or http address. */
  url: string;
  csrf: string;
}

/** The most characters of a message that a page shows. */
const MESSAGE_CHARACTERS = 2000;

/** A message of an author, which may repeat what strangers wrote. */
export function shownMessage(
  message: string,
  most = MESSAGE_CHARACTERS,
): string {
  const plain = message.toWellFormed();
  return plain.length <= most ? plain : `${plain.slice(0, most)}…`;
}

/** The name of a client, and how far it is verified. */
export function AskingName({ client }: { client: AskingClient }) {
  return (
    <>
      “<bdi>{displayName(client.name)}</bdi>” {client.isKnown
        ? null
        : client.domain
        ? <span class="badge good">{client.domain}</span>
        : <span class="badge warn">Unverified</span>}
    </>
  );
}

/** The open question. Send it with `forms: "self"`. */
export function WaitPage(props: WaitProps) {
  const { base = "", id, client, tool, message, url, csrf } = props;
  const name = displayName(client.name);
  const { host } = new URL(url);
  return (
    <Layout
      title="Waiting for you"
      serverTitle={props.serverTitle}
      about={props.about}
    >
      <main class="card">
        <h1>
          “<bdi>{name}</bdi>” waits for you
        </h1>
        <p class="lead">
          It asks you to do something at{" "}
          <strong>{host}</strong>. Go on only if you started this yourself.
        </p>
        <dl class="facts">
          <div>
            <dt>Who asks</dt>
            <dd>
              <AskingName client={client} /> with the tool <code>{tool}</code>
            </dd>
          </div>
          <div>
            <dt>What the tool says</dt>
            <dd class="said">
              <bdi>{shownMessage(message)}</bdi>
            </dd>
          </div>
          <div>
            <dt>Where it leads</dt>
            <dd>
              <p>
                <strong>{host}</strong>. It is another page, which this server
                does not answer for.
              </p>
              <p>
                <a
                  class="button"
                  href={url}
                  target="_blank"
                  rel="noopener noreferrer"
                >
                  Open {host}
                  <span class="visually-hidden">in a new tab</span>
                </a>
              </p>
            </dd>
          </div>
          <div>
            <dt>What comes next</dt>
            <dd>
              When you have done it, come back and press Done. The app learns
              that you said so, and nothing else.
              <SignedInAs person={props.person} />
            </dd>
          </div>
        </dl>
        <form method="post" action={`${base}/wait/${id}`}>
          <input type="hidden" name="csrf" value={csrf} />
          <div class="actions">
            <button class="primary" type="submit" name="answer" value="done">
              Done
            </button>
            <button type="submit" name="answer" value="not-now">
              Not now
            </button>
          </div>
        </form>
      </main>
    </Layout>
  );
}

function SignedInAs({ person }: { person: string }) {
  return (
    <p class="small soft">
      You are signed in as{" "}
      <strong>
        <bdi>{displayName(person)}</bdi>
      </strong>.
    </p>
  );
}

/** The page after the answer; undefined: it was taken and is not known. */
export function WaitAnsweredPage(
  { base = "", client, answer, ...props }: WaitPageProps & {
    client: AskingClient;
    answer?: WaitAnswer;
  },
) {
  return (
    <Layout title="Answered" {...props}>
      <main class="card">
        <h1>{answer === "not-now" ? "Not now" : "Answered"}</h1>
        <p class="note good" role="status">
          {answer === "not-now"
            ? "You said “Not now”. The app is told so."
            : answer === "done"
            ? "You said “Done”."
            : "Your answer has arrived."}
        </p>
        <p>
          You can go back to{" "}
          <AskingName client={client} />. If it does not go on by itself, ask it
          to try again.
        </p>
        <p>
          <a href={`${base}/account`}>Your account</a>
        </p>
      </main>
    </Layout>
  );
}

/**
 * The page for a link that is not the person's, or is over: which of them it
 * does not say. Send it with `forms: "self"`.
 */
export function NoWaitPage(
  { base = "", person, csrf, ...props }: WaitPageProps & {
    person: string;
    csrf: string;
  },
) {
  return (
    <Layout title="Nothing waits for you here" {...props}>
      <main class="card">
        <h1>Nothing waits for you here</h1>
        <p>
          This link is not yours, or it is over: a link ends when it was
          answered, and after an hour. Did someone send it to you? It is of no
          use to you, and they get nothing from you.
        </p>
        <SignedInAs person={person} />
        <form method="post" action={`${base}/account/sign-out`}>
          <input type="hidden" name="csrf" value={csrf} />
          <div class="actions">
            <a class="button" href={`${base}/account`}>Your account</a>
            <button type="submit">Sign out</button>
          </div>
        </form>
      </main>
    </Layout>
  );
}

/** The page for someone who has not signed in. `forms: "any"`. */
export function WaitSignInPage(
  { base = "", id, providerName, ...props }: WaitPageProps & {
    id: string;
    providerName: string;
  },
) {
  return (
    <Layout title="Waiting for you" {...props}>
      <main class="card">
        <h1>Is this for you?</h1>
        <p class="lead">
          Sign in to see what waits for you here. The link shows nothing to
          anyone else.
        </p>
        <form method="post" action={`${base}/account/sign-in`}>
          <input type="hidden" name="back" value={`wait/${id}`} />
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
