/** @jsxImportSource @hono/hono/jsx */
/**
 * The page of a question that waits for a person: the asker, the question's
 * URL, and the person's answer.
 *
 * @module
 */
import {
  type ClientInWords,
  ClientName,
  ClientNameAndBadge,
  displayName,
  shownMessage,
  type ToolInWords,
  ToolTitle,
} from "../../core/pages/names.tsx";
import {
  AccountForm,
  CardPage,
  FactRow,
  type PageProps,
} from "../../core/pages/layout.tsx";
import { FRONT_SCRIPT } from "../../core/pages/scripts.ts";

interface WaitProps extends PageProps, ToolInWords {
  id: string;
  person: string;
  client: ClientInWords;
  /** The author's text. */
  message: string;
  url: string;
  csrf: string;
}

/** The page of an open question. Respond with `forms: "self"`. */
export function WaitPage(props: WaitProps) {
  const { base, id, client, message, url, csrf } = props;
  const { host } = new URL(url);
  return (
    <CardPage
      {...props}
      title="Waiting for you"
      scripts={[FRONT_SCRIPT]}
      heading={
        <>
          <ClientName name={client.name} /> waits for you
        </>
      }
    >
      <p class="lead">
        It asks you to do something at{" "}
        <strong>{host}</strong>. Go on only if you started this yourself.
      </p>
      <dl class="facts">
        <FactRow term="Who asks">
          <ClientNameAndBadge client={client} /> for <ToolTitle {...props} />
        </FactRow>
        <FactRow term="What the tool says" class="said">
          <bdi>{shownMessage(message)}</bdi>
        </FactRow>
        <FactRow term="Where it leads">
          <strong>{host}</strong>. It is another page, which this server does
          not answer for.
        </FactRow>
        <FactRow term="What comes next">
          Open it, do what it asks, come back and press Done. The app learns
          that you said so, and nothing else.
          <SignedInLine person={props.person} />
        </FactRow>
      </dl>
      <AccountForm base={base} csrf={csrf} action={`/wait/${id}`}>
        <div class="actions">
          <OpenButton url={url} />
          <button type="submit" name="answer" value="done">Done</button>
          <button type="submit" name="answer" value="not-now">Not now</button>
        </div>
      </AccountForm>
    </CardPage>
  );
}

/** The button that opens a URL of the author's, in a row of its own. */
export function OpenButton(
  { url, isQuiet = false }: { url: string; isQuiet?: boolean },
) {
  return (
    <a
      class={`button primary whole ${isQuiet ? "quiet" : ""}`}
      href={url}
      target="_blank"
      rel="noopener noreferrer"
    >
      Open {new URL(url).host} <span class="visually-hidden">in a new tab</span>
    </a>
  );
}

export function SignedInLine({ person }: { person: string }) {
  return (
    <p class="small soft">
      You are signed in as{" "}
      <strong>
        <bdi>{displayName(person)}</bdi>
      </strong>.
    </p>
  );
}

/**
 * The page after the answer. `answer` is undefined once the tool has read it.
 */
export function WaitAnsweredPage(
  { client, answer, ...page }: PageProps & {
    client: ClientInWords;
    answer?: "done" | "not-now";
  },
) {
  return (
    <CardPage
      {...page}
      title="Answered"
      heading={answer === "not-now" ? "Not now" : "Answered"}
    >
      <p class="note good" role="status">
        {answer === "not-now"
          ? "You said “Not now”. The app is told so."
          : answer === "done"
          ? "You said “Done”."
          : "Your answer has arrived."}
      </p>
      <p>
        You can go back to{" "}
        <ClientName name={client.name} />. If it does not go on by itself, ask
        it to try again.
      </p>
      <p>
        <a href={`${page.base ?? ""}/account`}>Your account</a>
      </p>
    </CardPage>
  );
}

/**
 * The page for a link that has ended or is someone else's, without saying
 * which. Respond with `forms: "self"`.
 */
export function NoWaitPage(
  { person, csrf, ...page }: PageProps & { person: string; csrf: string },
) {
  const { base = "" } = page;
  return (
    <CardPage {...page} title="Nothing waits for you here">
      <p>
        Either it is over: it was answered, done or withdrawn, or its time is
        up. Or this link is for someone else: then it is of no use to you, and
        its sender gets nothing from you.
      </p>
      <SignedInLine person={person} />
      <AccountForm base={base} csrf={csrf} action="/account/sign-out">
        <div class="actions">
          <a class="button" href={`${base}/account`}>Your account</a>
          <button type="submit">Sign out</button>
        </div>
      </AccountForm>
    </CardPage>
  );
}
