/**
 * The output of several processes, in whole lines, so that they do not mix.
 *
 * @module
 */
import { LineQueue } from "../log/line_queue.ts";
import { printDropped } from "../log/standard_output.ts";

/** The characters of a line; longer ones are cut in pieces. */
const LONGEST_LINE = 64 * 1024;

export const stdout = new LineQueue(
  (bytes) => Deno.stdout.write(bytes),
  printDropped,
);
export const stderr = new LineQueue(
  (bytes) => Deno.stderr.write(bytes),
  printDropped,
);

/** Passes what a process prints on. */
export async function passOn(
  from: ReadableStream<Uint8Array<ArrayBuffer>>,
  to: LineQueue,
): Promise<void> {
  let rest = "";
  for await (const chunk of from.pipeThrough(new TextDecoderStream())) {
    const text = rest + chunk;
    const end = text.lastIndexOf("\n");
    if (end >= 0) to.push(text.slice(0, end));
    rest = text.slice(end + 1);
    if (rest.length > LONGEST_LINE) {
      to.push(rest);
      rest = "";
    }
  }
  if (rest !== "") to.push(rest);
}
