/**
 * Answers, read to their end or message by message.
 *
 * @module
 */
import type { Json } from "./message.ts";
import { within } from "./wait.ts";

/** Reads the status of an answer, and drops its body. */
export async function statusOf(
  response: Response | Promise<Response>,
): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

/** Reads the text of a tool's result. */
export async function textOf(
  response: Response | Promise<Response>,
): Promise<string> {
  return (await resultOf(response)).content[0].text;
}

/** Prints an answer's status and OAuth error as one line. */
export async function oauthError(
  response: Response | Promise<Response>,
): Promise<string> {
  const answered = await response;
  return `${answered.status} ${(await answered.json()).error}`;
}

/** Prints an answer's status and JSON-RPC error code as one line. */
export async function refusal(
  response: Response | Promise<Response>,
): Promise<string> {
  const { status, error } = await outcome(response);
  return `${status} ${error?.code}`;
}

/** Reads an answer's status and the members of its one JSON message. */
export async function outcome(
  response: Response | Promise<Response>,
): Promise<{ status: number; id?: Json; result?: Json; error?: Json }> {
  const answered = await response;
  const text = await answered.text();
  return { status: answered.status, ...(text && JSON.parse(text)) };
}

/** Reads the result of an answer, from JSON or from a stream. */
export async function resultOf(
  response: Response | Promise<Response>,
): Promise<Json> {
  const messages = await messagesOf(await response);
  return messages.at(-1)?.result;
}

/**
 * Reads every message of an answer: one of JSON, or those of a stream to its
 * end.
 */
export async function messagesOf(response: Response): Promise<Json[]> {
  if (!isStream(response)) return [await response.json()];
  const messages = [];
  for await (const message of new Events(response)) messages.push(message);
  return messages;
}

export function isStream(response: Response): boolean {
  return response.headers.get("content-type") === "text/event-stream";
}

/** A stream of server-sent events, message by message. */
export class Events implements AsyncIterableIterator<Json> {
  /** Comments seen so far: the opening one, then keep-alives. */
  comments = 0;
  #reader: ReadableStreamDefaultReader<string>;
  #text = "";

  constructor(response: Response) {
    this.#reader = response.body!.pipeThrough(new TextDecoderStream())
      .getReader();
  }

  /** Returns the next message; `done` at the end of the stream. */
  async next(): Promise<IteratorResult<Json>> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end < 0) {
        const { done, value } = await within(60, this.#reader.read());
        if (done) return { done, value: undefined };
        this.#text += value;
        continue;
      }
      const event = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + 2);
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) return { value: JSON.parse(data) };
      this.comments++;
    }
  }

  /** Returns the next message's value. */
  async read(): Promise<Json> {
    return (await this.next()).value;
  }

  /** Closes the stream, as a client does that wants no more. */
  async close(): Promise<void> {
    await this.#reader.cancel();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
