/**
 * An operator's command, from its command line to its text.
 *
 * @module
 */
import { matchesPerson } from "../../src/core/oauth/allowed_users.ts";
import type { Grant } from "../../src/core/oauth/grant.ts";
import { lowerAscii } from "../../src/core/oauth/list_entry.ts";
import { foldText, personName } from "../../src/core/oauth/person.ts";
import { escaped, escapedLines } from "../../src/core/log/log_line.ts";
import { parseCursor, printCursor } from "../../src/core/store/people.ts";
import { ClientsCommand } from "./clients_command.ts";
import {
  Command,
  dayText,
  endedWords,
  isMachine,
  type Operator,
  textTable,
} from "./command.ts";
import { usageFailure } from "../call/failure.ts";
import { parseCommandLine } from "./command_line.ts";
import { commandFailure } from "./database.ts";

/**
 * Runs a command, and returns its text, which cannot control a terminal.
 *
 * @throws {Failure}
 */
export async function runCommand(
  args: readonly string[],
  operator: Operator,
): Promise<string> {
  const line = parseCommandLine(args);
  const Noun = line.noun === "people" ? PeopleCommand : ClientsCommand;
  return escapedLines(await new Noun(line, operator).run());
}

/** The maximum number of people on a page. */
const PAGE = 100;

/** `deno task ts people …`: the operator's commands about people. */
class PeopleCommand extends Command {
  override async run(): Promise<string> {
    const { line: { verb }, operator: { register } } = this;
    if (verb === "list") return await this.#list();
    if (verb === "blocked") return await this.blocked(false);
    if (verb === "reseal") return await this.#reseal();
    const subject = await this.#personNamed();
    if (verb === "unblock") return await this.unblock(subject);
    if (verb === "passkeys") return await this.#passkeys(subject);
    const isKnown = await register.isKnown(subject);
    const unknown = `Nothing is known of ${escaped(subject)}`;
    switch (verb) {
      case "show":
        if (!isKnown) throw commandFailure(unknown);
        return await this.#show(subject);
      case "export":
        if (!isKnown) throw commandFailure(unknown);
        this.audit("Person exported", { subject });
        return (await Array.fromAsync(register.print(subject))).join("");
      case "end":
      case "erase": {
        // The end is carried out for an unknown person too, because they may
        // have signed in meanwhile.
        const isErased = verb === "erase";
        const end = isErased ? register.erase : register.endPerson;
        const { grants: ended, accounts } = await end(subject);
        if (!isKnown && ended === 0) throw commandFailure(unknown);
        const counts = { ended, accounts };
        // The subject is not logged, because it was erased.
        if (isErased) this.audit("Person erased", counts);
        else this.audit("Everything of a person ended", { subject, ...counts });
        const words = endedWords(ended, accounts);
        return this.print(
          { subject, ...counts },
          isErased ? `${escaped(subject)} is erased; ${words}` : words,
        );
      }
      default:
        return await this.block({
          name: subject,
          isKnown,
          unknown,
          end: () => register.endPerson(subject),
        });
    }
  }

  async #list(): Promise<string> {
    const { after, named } = this.line;
    const place = parseCursor(after);
    if (after !== undefined && !place) {
      throw usageFailure(`--after: ${after} is no place that a list gave`);
    }
    const page = await this.operator.register.list({
      search: named || undefined,
      after: place,
      most: PAGE,
    });
    const people = page.people.map(({ subject, grants }) => ({
      subject,
      name: personName(grants[0]),
      email: grants[0].identity.email ?? "",
      connections: grants.length,
      lastUse: dayText(Math.max(...grants.map(({ usedAt }) => usedAt))),
    }));
    const next = page.next && printCursor(page.next);
    const more = next ? `\nMore: --after '${next}'` : "";
    return this.print({ people, next }, textTable(people) + more);
  }

  /**
   * Encrypts again all secrets that an old key of `SECRETS_KEYS` has encrypted.
   */
  async #reseal(): Promise<string> {
    const secretsKeys = this.operator.readSecretsKeys?.() ?? [];
    if (secretsKeys.length === 0) {
      throw commandFailure(
        "SECRETS_KEYS is not set: use that of the server. If the app has a " +
          "`sealing` of its own, accounts are sealed anew as they are used",
      );
    }
    const counts = await this.operator.register.reseal(secretsKeys);
    this.audit("Accounts sealed anew", counts);
    const { sealed, resealed, left } = counts;
    return this.print(
      counts,
      `${resealed} of ${sealed} accounts sealed anew; left with another key ` +
        `than the first: ${left}`,
    );
  }

  /**
   * Lists the passkeys of a person, or deletes them. After a deletion, a new
   * passkey may approve at once.
   */
  async #passkeys(subject: string): Promise<string> {
    const { passkeys } = this.operator.register;
    if (this.line.reset) {
      const deleted = await passkeys.reset(subject);
      this.audit("Passkeys deleted", { subject, passkeys: deleted });
      return this.print(
        { subject, deleted },
        `${deleted} deleted: the next passkey of ${
          escaped(subject)
        } counts at once`,
      );
    }
    const { own } = await passkeys.find(subject);
    const rows = own.map(({ name, createdAt, countsFrom, usedAt }) => ({
      name,
      made: dayText(createdAt),
      counts: dayText(countsFrom),
      lastUse: usedAt === undefined ? "" : dayText(usedAt),
    }));
    return this.print({ passkeys: rows }, textTable(rows));
  }

  async #show(subject: string): Promise<string> {
    const kept = await this.operator.register.gather(subject);
    const rows = kept.connections.map((grant) => ({
      client: grant.clientName,
      status: grant.pausedAt === undefined ? grant.status : "paused",
      scopes: grant.scopes.join(" "),
      since: dayText(grant.createdAt),
      lastUse: dayText(grant.usedAt),
    }));
    const state = kept.block ? "blocked" : "not blocked";
    const { accounts: services = [], passkeys = [] } = kept as {
      accounts?: readonly { service: string }[];
      passkeys?: readonly object[];
    };
    const accounts = services.map(({ service }) => service).join(", ");
    return this.print(
      kept,
      `${escaped(subject)}: ${state}, sessions: ${kept.sessions}, ` +
        `tasks: ${kept.tasks?.length ?? 0}, accounts: ${accounts || "none"}, ` +
        `passkeys: ${passkeys.length}\n` +
        textTable(rows),
    );
  }

  /** Finds the subject that the command line names. @throws {Failure} */
  async #personNamed(): Promise<string> {
    const { named } = this.line;
    if (isMachine(named)) {
      throw usageFailure("That is a client: use deno task ts clients");
    }
    // A subject is used as it is, because the person may have nothing open yet.
    if (/^(?:[^\s@:]+:\S+|https?:\/\/[^\s#]+#.+)$/s.test(named)) return named;
    const { people, next } = await this.operator.register.list({
      search: named,
      most: PAGE,
    });
    const meant = people.filter(({ grants }) =>
      grants.some((grant) => isCalled(grant, named))
    );
    if (meant.length === 1 && !next) return meant[0].subject;
    // People after the first page may have the same name.
    if (meant.length > 0) {
      throw commandFailure(
        `Several people may be called ${escaped(named)}: name a subject`,
      );
    }
    throw commandFailure(
      `No one is called ${
        escaped(named)
      }: find them with "deno task ts people ` +
        'list" or "people blocked", or write their subject, as github:583231, ' +
        "or as https://id.example.com#42",
    );
  }
}

/**
 * True if a text is the whole name of a person. A text with an `@` must be an
 * email address that the provider has verified, because anyone may choose a
 * name that looks like another person's address.
 */
function isCalled({ subject, identity }: Grant, text: string): boolean {
  if (text.includes("@")) {
    const address = lowerAscii(text);
    return matchesPerson({ kind: "address", address }, { subject, identity });
  }
  const { login = "", name = "" } = identity;
  return [login, name].some((it) => foldText(it) === foldText(text));
}
