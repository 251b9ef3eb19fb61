/**
 * The parts that all commands of an operator share, such as the printing of
 * results.
 *
 * @module
 */
import type { EndedCounts } from "../../src/core/auth/grants/end_grant.ts";
import { MACHINE_ID } from "../../src/core/oauth/subject.ts";
import type { Logger } from "../../src/core/log/log.ts";
import { escaped } from "../../src/core/log/log_line.ts";
import type { CommandLine } from "./command_line.ts";
import { commandFailure } from "./database.ts";
import type { Register } from "./register.ts";

/** The person who runs a command, and the register of people and clients. */
export interface Operator {
  register: Register;
  log: Logger;
  /** Reads the keys that encrypt people's secrets, the newest first. */
  readSecretsKeys?(): readonly string[];
  /** The operator's name, for blocks and the log. */
  by: string;
}

/** The person or client to block. */
export interface Blockable {
  name: string;
  isKnown: boolean;
  /** The message if nothing is known about the name. */
  unknown: string;
  /** Ends all connections of the person or client. */
  end(): Promise<EndedCounts>;
}

export abstract class Command {
  constructor(
    protected readonly line: CommandLine,
    protected readonly operator: Operator,
  ) {}

  /** Runs the command, and returns its text. @throws {Failure} */
  abstract run(): Promise<string>;

  /**
   * Returns a value as JSON if the command line asks for that, otherwise its
   * text.
   */
  protected print(value: unknown, text: string): string {
    return this.line.json ? JSON.stringify(value, null, 2) : text;
  }

  protected audit(did: string, facts: Record<string, unknown>): void {
    const { log, by } = this.operator;
    log.audit(`${did} on the command line`, { operator: by, ...facts });
  }

  /** Blocks a person or a client, and ends all its connections. */
  protected async block(about: Blockable): Promise<string> {
    const { name } = about;
    const { register: { blocks }, by } = this.operator;
    const { reason } = this.line;
    const made = await blocks.block(name, { by, reason }).catch((error) => {
      if (!(error instanceof RangeError)) throw error;
      throw commandFailure(`${error.message}: lift some first`);
    });
    const { grants: ended, accounts } = await about.end();
    this.audit("Blocked", { name, reason: made.reason, ended, accounts });
    const known = about.isKnown || ended > 0;
    return this.print(
      { block: made, ended, accounts, known },
      `${escaped(name)} is blocked; ${endedWords(ended, accounts)}` +
        (known ? "" : `. ${about.unknown} yet`),
    );
  }

  /** Lifts the block of a person or a client. */
  protected async unblock(name: string): Promise<string> {
    const lifted = await this.operator.register.blocks.lift(name);
    if (!lifted) throw commandFailure(`${escaped(name)} is not blocked`);
    this.audit("Block lifted", { name });
    const may = isMachine(name) ? "connect" : "sign in";
    return this.print({ lifted }, `${escaped(name)} may ${may} again`);
  }

  /** Lists the blocks of people, or of clients. */
  protected async blocked(ofClients: boolean): Promise<string> {
    const all = await this.operator.register.blocks.list();
    const blocks = all.filter(({ name }) => isMachine(name) === ofClients);
    const rows = blocks.map(({ name, at, by, reason = "" }) => ({
      [ofClients ? "name" : "subject"]: name,
      since: dayText(at),
      by,
      reason,
    }));
    return this.print({ blocks }, textTable(rows));
  }
}

/** Formats a time as a day in UTC. */
export function dayText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/** Describes how many connections were ended and accounts disconnected. */
export function endedWords(count: number, accounts = 0): string {
  const words = `${count} ${count === 1 ? "connection" : "connections"} ended`;
  if (accounts === 0) return words;
  const noun = accounts === 1 ? "account" : "accounts";
  return `${words}, ${accounts} ${noun} at other services disconnected`;
}

/** The maximum length in characters of a cell; names may be long. */
const MAX_CELL = 400;
/**
 * The maximum width of a column. A longer cell moves only the rest of its own
 * line.
 */
const MAX_WIDTH = 60;

/** Formats records as a table, one per line. */
export function textTable(rows: readonly Record<string, unknown>[]): string {
  if (rows.length === 0) return "None.";
  const head = Object.keys(rows[0]);
  const lines = [
    head,
    ...rows.map((row) => head.map((it) => cellOf(escaped(`${row[it]}`)))),
  ];
  const widths = head.map((_, at) =>
    Math.min(MAX_WIDTH, Math.max(...lines.map((line) => line[at].length)))
  );
  return lines.map((line) =>
    line.map((cell, at) => cell.padEnd(widths[at])).join("  ").trimEnd()
  ).join("\n");
}

function cellOf(text: string): string {
  return text.length <= MAX_CELL ? text : `${text.slice(0, MAX_CELL)}…`;
}

/** True for the subject of a `client_credentials` client. */
export function isMachine(name: string): boolean {
  return name.startsWith(`${MACHINE_ID}:`);
}
