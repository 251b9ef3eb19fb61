/**
 * Standard output, the default output of a log. Each event is one line: words
 * on a terminal, else JSON. `console.log` would block the process if a reader
 * stalls, and end it if the disk is full; asynchronous writes do neither.
 *
 * @module
 */
import { LineQueue, type WriteBytes } from "./line_queue.ts";
import type { LogOutput } from "./log.ts";
import { jsonLine, type LogEvent, terminalLine } from "./log_line.ts";

/** The members of Node's `process` that are used here. */
interface NodeProcess {
  stdout?: { isTTY?: boolean };
  getBuiltinModule?(name: "node:fs"): NodeFiles;
}

interface NodeFiles {
  write(
    file: number,
    bytes: Uint8Array,
    done: (error: { code?: string } | null, count: number) => void,
  ): void;
}

let queue: LineQueue | undefined;

/**
 * Makes the output that writes to standard output.
 *
 * @param captured true if each call of `console` becomes a record in a log
 * collector
 */
export function standardOutput(captured = false): LogOutput {
  const isDeno = "Deno" in globalThis;
  const write = captured && isDeno ? undefined : writeBytes();
  if (!write) return new CapturedConsole();
  const lines = queue ??= new LineQueue(write, printDropped);
  const print = printer();
  return {
    write: (event) =>
      lines.push(
        print(event),
        event.level === "warning" || event.level === "error",
      ),
    flush: () => lines.flush(),
  };
}

export function printDropped(count: number): string {
  return printer()({
    timestamp: Date.now(),
    level: "warning",
    category: "log",
    message: "Lines are missing here: no one took them in time",
    properties: { lines: count },
  });
}

function printer(): (event: LogEvent) => string {
  const isOnTerminal = "Deno" in globalThis
    ? Deno.stdout.isTerminal()
    : nodeProcess()?.stdout?.isTTY === true;
  return isOnTerminal ? terminalLine : jsonLine;
}

function nodeProcess(): NodeProcess | undefined {
  return (globalThis as { process?: NodeProcess }).process;
}

/**
 * Returns the runtime's asynchronous write to standard output; undefined if it
 * has none.
 */
function writeBytes(): WriteBytes | undefined {
  if ("Deno" in globalThis) return (bytes) => Deno.stdout.write(bytes);
  const files = nodeProcess()?.getBuiltinModule?.("node:fs");
  return files && ((bytes) => writeOnNode(files, bytes));
}

const STANDARD_OUTPUT = 1;
const AGAIN_MILLISECONDS = 50;

/**
 * Writes without `process.stdout`, whose `error` event would end the process.
 */
function writeOnNode(files: NodeFiles, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    files.write(STANDARD_OUTPUT, bytes, (error, count) => {
      if (!error) return resolve(count);
      if (error.code !== "EAGAIN") return reject(error);
      // The pipe is full; it became non-blocking when `process.stdout` was
      // used.
      const timer: { unref?(): void } | number = setTimeout(
        () => resolve(0),
        AGAIN_MILLISECONDS,
      );
      if (typeof timer === "object") timer.unref?.();
    });
  });
}

/**
 * Writes each event by one call of `console`. Deno Deploy and OpenTelemetry
 * turn each call into a record with its level and its trace. Each line also
 * names its trace.
 */
class CapturedConsole implements LogOutput {
  #dropped = 0;

  write(event: LogEvent): void {
    const line = jsonLine(event);
    try {
      console[event.level === "warning" ? "warn" : event.level](line);
      if (this.#dropped > 0) console.warn(printDropped(this.#dropped));
      this.#dropped = 0;
    } catch {
      // The disk behind standard output is full.
      this.#dropped++;
    }
  }
}
