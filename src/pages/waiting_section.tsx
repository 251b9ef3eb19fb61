/** @jsxImportSource @hono/hono/jsx */
/**
 * The questions that wait for a person, each with the way to its page.
 *
 * @module
 */
import { type AskingClient, AskingName } from "./client_name.tsx";
import { displayName } from "./display_name.ts";
import { Moment } from "./moment.tsx";
import { shownMessage } from "./wait_page.tsx";

/** An open question, for the page of its person. Times are epoch seconds. */
export interface WaitInWords {
  id: string;
  client: AskingClient;
  tool: string;
  /** The author's words. */
  message: string;
  createdAt: number;
}

/** The most characters of a message in the list. */
const MESSAGE_CHARACTERS = 200;

/** A person's open questions; nothing where there are none. */
export function WaitingSection(
  { base = "", waits, now }: {
    /** Path of the public address; empty at a root. */
    base?: string;
    /** Newest first. */
    waits: readonly WaitInWords[];
    now: number;
  },
) {
  if (waits.length === 0) return null;
  return (
    <section>
      <h2>Waiting for you</h2>
      <div class="card">
        <ul class="rows">
          {waits.map(({ id, client, tool, message, createdAt }) => (
            <li>
              <div class="row-head">
                <h3 class="row-title">
                  <AskingName client={client} />
                </h3>
                <a class="button quiet" href={`${base}/wait/${id}`}>
                  Answer
                  <span class="visually-hidden">
                    {` ${displayName(client.name)}, ${tool}`}
                  </span>
                </a>
              </div>
              <p class="said">
                <bdi>{shownMessage(message, MESSAGE_CHARACTERS)}</bdi>
              </p>
              <p class="small soft">
                Asked by <code>{tool}</code> <Moment at={createdAt} now={now} />
              </p>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}
