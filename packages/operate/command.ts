/**
 * The commands of an operator, about people and about clients: from a command
 * line to its text.
 *
 * @module
 */
import { shortClientId } from "../../src/auth/rules/client_id.ts";
import type { Grant } from "../../src/auth/rules/grant.ts";
import { folded, nameOf } from "../../src/auth/rules/person.ts";
import { MACHINE_ID, machineSubject } from "../../src/auth/rules/subject.ts";
import type { Logger } from "../../src/log/log.ts";
import { parsePlace, printPlace } from "../../src/store/people.ts";
import {
  type CommandLine,
  notUnderstood,
  parseCommandLine,
  RefusalError,
  UsageError,
} from "./command_line.ts";
import type { Register } from "./register.ts";
import { day, shown, table } from "./table.ts";

/** The surroundings of a command. */
interface Operator {
  register: Register;
  log: Logger;
  /** The operator's name, for blocks and the log. */
  by: string;
}

/** Everything that commands about people and about clients share. */
abstract class Command {
  constructor(
    protected readonly line: CommandLine,
    protected readonly operator: Operator,
  ) {}

  /** Carries it out, and gives its text. @throws {UsageError} */
  abstract run(): Promise<string>;

  /** Prints a value as JSON if that is asked for, or its text. */
  protected print(value: unknown, text: string): string {
    return this.line.json ? JSON.stringify(value, null, 2) : text;
  }

  protected audit(did: string, facts: Record<string, unknown>): void {
    const { log, by } = this.operator;
    log.audit(`${did} on the command line`, { operator: by, ...facts });
  }

  /** Blocks someone, or lifts the block. @throws {UsageError} */
  protected async change(
    name: string,
    end: () => Promise<number>,
  ): Promise<string> {
    const { verb } = this.line;
    if (verb === "block") return await this.#block(name, end);
    if (verb !== "unblock") throw notUnderstood(verb);
    const lifted = await this.operator.register.blocks.lift(name);
    if (!lifted) throw new RefusalError(`${shown(name)} is not blocked`);
    this.audit("Block lifted", { name });
    return this.print({ lifted }, `${shown(name)} may sign in again`);
  }

  async #block(name: string, end: () => Promise<number>): Promise<string> {
    const { register: { blocks }, by } = this.operator;
    const { reason } = this.line;
    const made = await blocks.block(name, { by, reason }).catch((error) => {
      if (!(error instanceof RangeError)) throw error;
      throw new RefusalError(`${error.message}: lift some first`);
    });
    const ended = await end();
    this.audit("Blocked", { name, reason: made.reason, ended });
    return this.print(
      { block: made, ended },
      `${shown(name)} is blocked; ${ended} connections ended`,
    );
  }

  /** Lists the blocks of people, or of clients. */
  protected async blocked(ofClients: boolean): Promise<string> {
    const all = await this.operator.register.blocks.list();
    const blocks = all.filter(({ name }) => namesClient(name) === ofClients);
    const rows = blocks.map(({ name, at, by, reason = "" }) => ({
      name,
      since: day(at),
      by,
      reason,
    }));
    return this.print({ blocks }, table(rows));
  }
}

/** True for the subject of a client, not of a person. */
function namesClient(name: string): boolean {
  return name.startsWith(`${MACHINE_ID}:`);
}

/** The people of a page. */
const PAGE = 100;

/** `deno task people …` */
class PeopleCommand extends Command {
  override async run(): Promise<string> {
    const { line: { verb }, operator: { register } } = this;
    if (verb === "list") return await this.#list();
    if (verb === "blocked") return await this.blocked(false);
    const subject = await this.#personNamed();
    switch (verb) {
      case "show":
        return await this.#show(subject);
      case "export":
        this.audit("Person exported", { subject });
        return (await Array.fromAsync(register.print(subject))).join("");
      case "end": {
        const ended = await register.endPerson(subject);
        this.audit("Everything of a person ended", { subject, ended });
        return this.print({ subject, ended }, `${ended} connections ended`);
      }
      case "erase": {
        const ended = await register.erase(subject);
        // The name itself is what is erased.
        this.audit("Person erased", { ended });
        return this.print({ subject, ended }, `${shown(subject)} is erased`);
      }
      default:
        return await this.change(subject, () => register.endPerson(subject));
    }
  }

  async #list(): Promise<string> {
    const { after, named } = this.line;
    const place = parsePlace(after);
    if (after !== undefined && !place) {
      throw new UsageError("--after is not a place that a list gave");
    }
    const page = await this.operator.register.list({
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
    return this.print({ people, next }, table(people) + more);
  }

  async #show(subject: string): Promise<string> {
    const kept = await this.operator.register.gather(subject);
    const rows = kept.connections.map((grant) => ({
      client: grant.clientName,
      status: grant.pausedAt === undefined ? grant.status : "paused",
      scopes: grant.scopes.join(" "),
      since: day(grant.createdAt),
      lastUse: day(grant.usedAt),
    }));
    const state = kept.block ? "blocked" : "not blocked";
    return this.print(
      kept,
      `${shown(subject)}: ${state}, ${kept.sessions} sessions, ` +
        `${kept.tasks.length} tasks\n${table(rows)}`,
    );
  }

  /** Finds the subject that is meant. @throws {UsageError} */
  async #personNamed(): Promise<string> {
    const { named } = this.line;
    if (named === "") throw new UsageError("Name a person");
    if (namesClient(named)) {
      throw new UsageError("That is a client: use deno task clients");
    }
    // Also before their first sign-in, or when all has ended.
    if (/^[^\s@:]+:\S+$/.test(named)) return named;
    const { people, next } = await this.operator.register.list({
      search: named,
      most: PAGE,
    });
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
}

/** Returns true if a text is a whole name or address of a person. */
function isCalled({ identity }: Grant, text: string): boolean {
  const { login = "", name = "", email = "" } = identity;
  return [login, name, email].some((it) => folded(it) === folded(text));
}

/** `deno task clients …` */
class ClientsCommand extends Command {
  override async run(): Promise<string> {
    const { line: { verb, named }, operator: { register } } = this;
    if (verb === "list") return await this.#list();
    if (verb === "blocked") return await this.blocked(true);
    if (named === "") throw new UsageError("Name a client by its ID");
    const id = shortClientId(named.replace(/^client:/, ""));
    if (verb !== "end") {
      return await this.change(
        machineSubject(id),
        () => register.endClient(id),
      );
    }
    const ended = await register.endClient(id);
    this.audit("Everything of a client ended", { clientId: id, ended });
    return this.print({ clientId: id, ended }, `${ended} connections ended`);
  }

  async #list(): Promise<string> {
    const clients = await this.operator.register.clients();
    const rows = clients.map(({ usedAt, ...client }) => ({
      ...client,
      lastUse: day(usedAt),
    }));
    return this.print({ clients }, table(rows));
  }
}

/** Carries out a command, and gives its text. @throws {UsageError} */
export async function runCommand(
  args: readonly string[],
  operator: Operator,
): Promise<string> {
  const line = parseCommandLine(args);
  switch (line.noun) {
    case "people":
      return await new PeopleCommand(line, operator).run();
    case "clients":
      return await new ClientsCommand(line, operator).run();
    default:
      throw new UsageError("Begin with people or clients");
  }
}
