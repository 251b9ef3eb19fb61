/** A server's reaction to a message, as far as it is compared. @module */

/** A status and, in a few words, the content of the body. */
export interface Outcome {
  status: number;
  /**
   * `empty`, `result`, `isError`, `question`, `stream`, `text`, or an error's
   * code.
   */
  answer: string;
}

/**
 * Reads a response to the point where its kind is known. A stream without a
 * question is not read.
 */
export async function outcomeOf(
  response: Response,
  verb: string,
): Promise<Outcome> {
  const { status, headers, body } = response;
  const type = headers.get("content-type") ?? "";
  if (body && type.startsWith("text/event-stream")) {
    if (verb !== "POST") {
      await body.cancel();
      return { status, answer: "stream" };
    }
    return { status, answer: await firstAnswer(body) };
  }
  return { status, answer: kindOf(await response.text()) };
}

/** Finds the first message on a stream that decides its kind. */
async function firstAnswer(body: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      text += value ?? "";
      for (const [, data] of text.matchAll(/^data: ?(.+)\r?\n/gm)) {
        const kind = kindOf(data);
        if (kind !== "notification") return kind;
        if (data.includes("subscriptions/acknowledged")) return "stream";
      }
      if (done) return "stream without an answer";
    }
  } finally {
    await reader.cancel();
  }
}

function kindOf(text: string): string {
  if (text === "") return "empty";
  try {
    const json = JSON.parse(text);
    return Array.isArray(json)
      ? `[${json.map(kindOfMessage).sort()}]`
      : kindOfMessage(json);
  } catch {
    return "text";
  }
}

function kindOfMessage(
  { method, result, error }: {
    method?: string;
    result?: { isError?: boolean; resultType?: string };
    error?: { code?: number };
  },
): string {
  if (method !== undefined) return "notification";
  if (error?.code !== undefined) return String(error.code);
  if (result === undefined) return "text";
  if (result.resultType === "input_required") return "question";
  return result.isError ? "isError" : "result";
}
