/**
 * A client in another language: a process that prints its findings as one line
 * of JSON, and before that the addresses that a person should visit.
 *
 * @module
 */
import type { Command } from "./languages.ts";

type Json = Record<string, unknown>;

/** The time a client may take, in milliseconds. */
const PATIENCE_MILLISECONDS = 90_000;

/** Visits an address, and gives the one where the browser arrived. */
export type Visit = (address: string) => Promise<string>;

/** Runs a client to its end. @throws {Error} with what it complained about */
export async function factsOf(
  [program, ...args]: Command,
  visit?: Visit,
): Promise<Json> {
  const child = new Deno.Command(program, {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MILLISECONDS);
  const complaints = new Response(child.stderr).text();
  const input = child.stdin.getWriter();
  let printed = "";
  try {
    for await (const line of linesOf(child.stdout)) {
      printed = line;
      const address = /^AUTHORIZE (.*)$/.exec(line)?.[1];
      if (address === undefined) continue;
      const arrival = await visit!(address);
      await input.write(new TextEncoder().encode(`${arrival}\n`));
    }
    if ((await child.status).success) return JSON.parse(printed);
    throw new Error(`${program} ${args.join(" ")}:\n${await complaints}`);
  } finally {
    clearTimeout(timer);
    await complaints;
    // It is already closed if the program has ended.
    await input.close().catch(() => {});
  }
}

async function* linesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (text + chunk).split("\n");
    text = lines.pop()!;
    yield* lines;
  }
}
