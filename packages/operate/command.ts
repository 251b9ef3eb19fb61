/**
 * The commands of an operator, as text.
 *
 * @module
 */
import { shortClientId } from "../../src/auth/rules/client_id.ts";
import type { Grant } from "../../src/auth/rules/grant.ts";
import { folded, nameOf } from "../../src/auth/rules/person.ts";
import { MACHINE_ID, machineSubject } from "../../src/auth/rules/subject.ts";
import type { Logger } from "../../src/log/log.ts";
import { visible } from "../../src/log/log_line.ts";
import type { Block } from "../../src/store/blocks.ts";
import { parsePlace, printPlace } from "../../src/store/people.ts";
import type { Register } from "./register.ts";

/** The people of a page. */
const PAGE = 100;

export const USAGE = `deno task people list [SEARCH] [--after PLACE]
deno task people show|end|unblock|export|erase WHO
deno task people block WHO [--reason TEXT]
deno task people blocked
deno task clients list
deno task clients end|unblock CLIENT
deno task clients block CLIENT [--reason TEXT]
WHO is a subject (github:583231), or a whole name, short name or e-mail address
that only one person has. --json prints JSON.`;

/** A command line that cannot be carried out. */
export class UsageError extends Error {}

/** A command line that is well formed, and cannot be carried out as it is. */
export class RefusalError extends UsageError {}

/** A command line, parsed. */
interface Arguments {
  words: string[];
  after?: string;
  reason?: string;
  json: boolean;
}

/** @throws {UsageError} */
function parseArguments(args: readonly string[]): Arguments {
  const parsed: Arguments = { words: [], json: false };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, name, value] = /^--(after|reason)(?:=(.*))?$/s.exec(arg) ?? [];
    if (arg === "--json") parsed.json = true;
    else if (name !== undefined) {
      const text = value ?? rest.shift();
      if (!text) throw new UsageError(`--${name} needs a value`);
      parsed[name as "after" | "reason"] = text;
    } else if (arg.startsWith("--")) {
      throw new UsageError(`Not understood: ${arg}`);
    } else parsed.words.push(arg);
  }
  return parsed;
}

/**
 * Carries out a command, and gives its text.
 *
 * @param by the operator, for blocks and the log
 * @throws {UsageError}
 */
export async function runCommand(
  args: readonly string[],
  { register, log, by }: { register: Register; log: Logger; by: string },
): Promise<string> {
  const { words, after, reason, json } = parseArguments(args);
  const [noun, verb = "list", ...rest] = words;
  const named = rest.join(" ");
  const print = (value: unknown, text: string) =>
    json ? JSON.stringify(value, null, 2) : text;
  const audit = (did: string, facts: Record<string, unknown>) =>
    log.audit(`${did} on the command line`, { operator: by, ...facts });

  async function listPeople(): Promise<string> {
    const place = parsePlace(after);
    if (after !== undefined && !place) {
      throw new UsageError("--after is not a place that a list gave");
    }
    const page = await register.list({
      search: named || undefined,
      after: place,
      most: PAGE,
    });
    const people = page.people.map(({ subject, grants }) => ({
      subject,
      name: nameOf(grants[0]),
      email: grants[0].identity.email ?? "",
      connections: grants.length,
      lastUse: day(Math.max(...grants.map(({ usedAt }) => usedAt))),
    }));
    const next = page.next && printPlace(page.next);
    const more = next ? `\nMore: --after '${next}'` : "";
    return print({ people, next }, table(people) + more);
  }

  async function personNamed(): Promise<string> {
    if (named === "") throw new UsageError("Name a person");
    if (named.startsWith(`${MACHINE_ID}:`)) {
      throw new UsageError("That is a client: use deno task clients");
    }
    // Also before their first sign-in, or when all has ended.
    if (/^[^\s@:]+:\S+$/.test(named)) return named;
    const { people, next } = await register.list({ search: named, most: PAGE });
    const meant = people.filter(({ grants }) =>
      grants.some((grant) => isCalled(grant, named))
    );
    if (meant.length === 1 && !next) return meant[0].subject;
    // Someone after so many may be called the same.
    if (meant.length > 0) {
      throw new RefusalError(
        `Several people may be called ${shown(named)}: name a subject`,
      );
    }
    throw new RefusalError(
      `No one is called ${shown(named)}: find them with "deno task people ` +
        'list", or write their subject, as github:583231',
    );
  }

  async function block(name: string, end: () => Promise<number>) {
    const made = await register.blocks.block(name, { by, reason })
      .catch((error) => {
        if (!(error instanceof RangeError)) throw error;
        throw new RefusalError(`${error.message}: lift some first`);
      });
    const ended = await end();
    audit("Blocked", { name, reason: made.reason, ended });
    return print(
      { block: made, ended },
      `${shown(name)} is blocked; ${ended} connections ended`,
    );
  }

  async function unblock(name: string) {
    const lifted = await register.blocks.lift(name);
    if (!lifted) throw new RefusalError(`${shown(name)} is not blocked`);
    audit("Block lifted", { name });
    return print({ lifted }, `${shown(name)} may sign in again`);
  }

  async function blocked(isListed: (block: Block) => boolean) {
    const blocks = (await register.blocks.list()).filter(isListed);
    const rows = blocks.map(({ name, at, by, reason = "" }) => ({
      name,
      since: day(at),
      by,
      reason,
    }));
    return print({ blocks }, table(rows));
  }

  async function doPeople(): Promise<string> {
    switch (verb) {
      case "list":
        return await listPeople();
      case "blocked":
        return await blocked(({ name }) => !isClient(name));
    }
    const subject = await personNamed();
    switch (verb) {
      case "show":
      case "export": {
        if (verb === "export") {
          audit("Person exported", { subject });
          return (await Array.fromAsync(register.print(subject))).join("");
        }
        const kept = await register.gather(subject);
        const rows = kept.connections.map((grant) => ({
          client: grant.clientName,
          status: grant.pausedAt === undefined ? grant.status : "paused",
          scopes: grant.scopes.join(" "),
          since: day(grant.createdAt),
          lastUse: day(grant.usedAt),
        }));
        const state = kept.block ? "blocked" : "not blocked";
        return print(
          kept,
          `${shown(subject)}: ${state}, ${kept.sessions} sessions, ` +
            `${kept.tasks.length} tasks\n${table(rows)}`,
        );
      }
      case "end": {
        const ended = await register.endPerson(subject);
        audit("Everything of a person ended", { subject, ended });
        return print({ subject, ended }, `${ended} connections ended`);
      }
      case "erase": {
        const ended = await register.erase(subject);
        // The name itself is what is erased.
        audit("Person erased", { ended });
        return print({ subject, ended }, `${shown(subject)} is erased`);
      }
      case "block":
        return await block(subject, () => register.endPerson(subject));
      case "unblock":
        return await unblock(subject);
      default:
        throw new UsageError(`Not understood: ${verb}`);
    }
  }

  async function doClients(): Promise<string> {
    if (verb === "list") {
      const clients = await register.clients();
      const rows = clients.map(({ usedAt, ...client }) => ({
        ...client,
        lastUse: day(usedAt),
      }));
      return print({ clients }, table(rows));
    }
    if (verb === "blocked") return await blocked(({ name }) => isClient(name));
    if (named === "") throw new UsageError("Name a client by its ID");
    const id = shortClientId(named.replace(/^client:/, ""));
    const name = machineSubject(id);
    switch (verb) {
      case "end": {
        const ended = await register.endClient(id);
        audit("Everything of a client ended", { clientId: id, ended });
        return print({ clientId: id, ended }, `${ended} connections ended`);
      }
      case "block":
        return await block(name, () => register.endClient(id));
      case "unblock":
        return await unblock(name);
      default:
        throw new UsageError(`Not understood: ${verb}`);
    }
  }

  switch (noun) {
    case "people":
      return await doPeople();
    case "clients":
      return await doClients();
    default:
      throw new UsageError("Begin with people or clients");
  }
}

/** Returns true if a text is a whole name or address of a person. */
function isCalled({ identity }: Grant, text: string): boolean {
  const { login = "", name = "", email = "" } = identity;
  return [login, name, email].some((it) => folded(it) === folded(text));
}

function isClient(name: string): boolean {
  return name.startsWith(`${MACHINE_ID}:`);
}

/** Prints a day of UTC. */
function day(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/** Prints text from outside, so that it cannot steer the terminal. */
function shown(value: unknown): string {
  return visible(String(value)).replaceAll("\n", " ");
}

function table(rows: readonly Record<string, unknown>[]): string {
  if (rows.length === 0) return "None.";
  const head = Object.keys(rows[0]);
  const lines = [head, ...rows.map((row) => head.map((it) => shown(row[it])))];
  const widths = head.map((_, at) =>
    Math.max(...lines.map((line) => line[at].length))
  );
  return lines.map((line) =>
    line.map((cell, at) => cell.padEnd(widths[at])).join("  ").trimEnd()
  ).join("\n");
}
