/**
 * Standard output: where a log goes unless its author says otherwise. One
 * event, one line: JSON when no one watches, readable words on a terminal.
 *
 * @module
 */
import type { LogOutput } from "./log.ts";
import { jsonLine, type LogEvent, terminalLine } from "./log_line.ts";

/** The process's standard output as it is known here. */
interface Process {
  stdout?: { isTTY?: boolean };
}

/**
 * Standard output for a log.
 *
 * @param captured whether every console call is captured as a record of its own
 */
export function standardOutput(captured: boolean): LogOutput {
  if (captured) return { write: oneByOne };
  if (isTerminal()) {
    return { write: (event) => console.log(terminalLine(event)) };
  }
  return { write: together, flush: () => Promise.resolve(flush()) };
}

function isTerminal(): boolean {
  if ("Deno" in globalThis) return Deno.stdout.isTerminal();
  const { process } = globalThis as { process?: Process };
  return process?.stdout?.isTTY === true;
}

/** Lines that wait for company: written alone, each would cost a system call. */
let waiting = "";
let waitingCount = 0;
const WAIT_MILLISECONDS = 50;
const MOST_WAITING = 500;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Warnings and errors are written at once, with what waited before them. */
function together(event: LogEvent): void {
  const line = jsonLine(event);
  waiting += waitingCount++ === 0 ? line : `\n${line}`;
  const canWait = event.level === "info" || event.level === "debug";
  if (!canWait || waitingCount >= MOST_WAITING) flush();
  else timer ??= setTimeout(flush, WAIT_MILLISECONDS);
}

function flush(): void {
  clearTimeout(timer);
  timer = undefined;
  if (waitingCount === 0) return;
  const text = waiting;
  waiting = "";
  waitingCount = 0;
  console.log(text);
}

/**
 * One call for each event, at once and by level: anyone who captures the console
 * (OpenTelemetry, Deno Deploy) makes a record of each call, in the trace it was
 * made in. Anyone who reads the lines instead finds the trace in them.
 */
function oneByOne(event: LogEvent): void {
  const line = jsonLine(event);
  switch (event.level) {
    case "debug":
      return console.debug(line);
    case "info":
      return console.info(line);
    case "warning":
      return console.warn(line);
    case "error":
      return console.error(line);
  }
}
