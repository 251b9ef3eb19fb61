/**
 * `deno task clients …`: what an operator does about clients.
 *
 * @module
 */
import { shortClientId } from "../../src/auth/rules/client_id.ts";
import { machineSubject } from "../../src/auth/rules/subject.ts";
import { Command } from "./command.ts";
import { notUnderstood, UsageError } from "./command_line.ts";
import { day, endedWords, table } from "./table.ts";

/** The verbs that are about one client. */
const OF_ONE = ["end", "block", "unblock"];

export class ClientsCommand extends Command {
  override async run(): Promise<string> {
    const { line: { verb, named }, operator: { register } } = this;
    if (verb === "list") return await this.#list();
    if (verb === "blocked") return await this.blocked(true);
    if (!OF_ONE.includes(verb)) throw notUnderstood(verb);
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
    return this.print({ clientId: id, ended }, endedWords(ended));
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
