/**
 * The load: wrk with `load.lua`.
 *
 * @module
 */
import { type Call, type Endpoint, requestText } from "./client.ts";

/** The result of a load. */
export interface Load {
  requests: number;
  seconds: number;
  /** Latency in milliseconds. */
  p50: number;
  p99: number;
  /** Answers other than 2xx and 3xx. */
  refused: number;
  /** Requests without an answer. */
  broken: number;
}

interface LoadOptions {
  seconds: number;
  /** Open connections, each with one request at a time. */
  connections?: number;
  /**
   * Values that replace `VALUE#…` in the request in turn; all of one length.
   */
  values?: readonly string[];
}

/** Repeats a call for some seconds. */
export async function load(
  endpoint: Endpoint,
  call: Call,
  { seconds, connections = 16, values }: LoadOptions,
): Promise<Load> {
  const directory = await Deno.makeTempDir();
  try {
    const files = [`${directory}/request`];
    await Deno.writeTextFile(files[0], await requestText(endpoint, call));
    if (values) {
      files.push(`${directory}/values`);
      await Deno.writeTextFile(files[1], values.join("\n"));
    }
    const { code, stdout, stderr } = await new Deno.Command("wrk", {
      // deno-fmt-ignore
      args: [
        "-t", "1", "-c", String(connections), "-d", String(seconds),
        "--timeout", "30s", "-s", new URL("load.lua", import.meta.url).pathname,
        `http://127.0.0.1:${endpoint.port}/mcp`, "--", ...files,
      ],
    }).output();
    const decoder = new TextDecoder();
    if (code !== 0) throw new Error(`wrk: ${decoder.decode(stderr)}`);
    return JSON.parse(decoder.decode(stdout).trimEnd().split("\n").at(-1)!);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** @throws {Error} with the way to install wrk when it is not there */
export async function checkWrk(): Promise<void> {
  try {
    await new Deno.Command("wrk", { args: ["-v"] }).output();
  } catch (cause) {
    throw new Error(
      "The benchmark needs wrk: `apt-get install wrk` (Debian, Ubuntu) or `brew install wrk` (macOS)",
      { cause },
    );
  }
}
