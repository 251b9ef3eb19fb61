/** @jsxImportSource @hono/hono/jsx */
/**
 * The list of a person's open questions, with links to answer them.
 *
 * @module
 */
import {
  type ClientInWords,
  ClientNameAndBadge,
  displayName,
  type PersonInWords,
  PersonName,
  shownMessage,
  type ToolInWords,
  ToolOfWork,
} from "../../core/pages/names.tsx";
import type { PageProps } from "../../core/pages/layout.tsx";
import { PausedBadge } from "./connections_section.tsx";
import { PastTime } from "../../core/pages/times.tsx";

/** An open question in the list. Times are epoch seconds. */
export interface OpenQuestion extends Partial<ToolInWords> {
  /** The path of the page that answers the question. */
  path: string;
  /** The asking client. Absent if its connection has ended. */
  client?: ClientInWords;
  /** The person whose call it is, if that is someone else. */
  person?: PersonInWords;
  /** The author's text of the question. */
  message: string;
  createdAt: number;
  /** The time at which the question expires, if that is soon. */
  endsAt?: number;
  /** True if the connection is paused, so that the call cannot continue. */
  isPaused?: boolean;
}

/** The maximum length of a listed message, in characters. */
const MAX_LISTED_CHARACTERS = 200;

/** The maximum number of listed questions. */
export const MAX_WAITS = 200;

/** A person's open questions, if there are any. */
export function WaitingSection(
  { base = "", waits, now }: Pick<PageProps, "base"> & {
    /** The open questions: those that expire first, then the newest. */
    waits: readonly OpenQuestion[];
    now: number;
  },
) {
  if (waits.length === 0) return null;
  return (
    <section>
      <h2>Waiting for you</h2>
      <div class="card">
        <ul class="rows">
          {waits.slice(0, MAX_WAITS).map((
            { path, client, person, message, createdAt, isPaused, ...tool },
          ) => (
            <li>
              <div class="row-head">
                <h3 class="row-title">
                  {client
                    ? <ClientNameAndBadge client={client} />
                    : "A connection that is gone"} {isPaused && <PausedBadge />}
                </h3>
                {!isPaused && (
                  <a class="button quiet" href={base + path}>
                    Answer
                    <span class="visually-hidden">
                      {` ${displayName(client?.name ?? "", "it")}, ${
                        displayName(tool.toolTitle ?? tool.tool ?? "", "a tool")
                      }`}
                    </span>
                  </a>
                )}
              </div>
              <p class="said">
                <bdi>{shownMessage(message, MAX_LISTED_CHARACTERS)}</bdi>
              </p>
              <p class="small soft">
                Asked by {person !== undefined && (
                  <>
                    <PersonName {...person} />, with{" "}
                  </>
                )}
                <ToolOfWork {...tool} /> <PastTime at={createdAt} now={now} />
                {isPaused && ". Resume its connection, then answer here."}
              </p>
            </li>
          ))}
        </ul>
      </div>
      {waits.length > MAX_WAITS && (
        <p class="small soft">
          There are more. These {MAX_WAITS} have to be answered first.
        </p>
      )}
    </section>
  );
}
