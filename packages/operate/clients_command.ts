/**
 * `deno task ts clients …`: the operator's commands about clients.
 *
 * @module
 */
import { shortClientId } from "../../src/core/oauth/client.ts";
import { machineSubject } from "../../src/core/oauth/subject.ts";
import { escaped } from "../../src/core/log/log_line.ts";
import { Command, dayText, endedWords, textTable } from "./command.ts";

export class ClientsCommand extends Command {
  override async run(): Promise<string> {
    const { line: { verb, named }, operator: { register } } = this;
    if (verb === "list") return await this.#list();
    if (verb === "blocked") return await this.blocked(true);
    const id = shortClientId(named.replace(/^client:/, ""));
    const name = machineSubject(id);
    if (verb === "unblock") return await this.unblock(name);
    const unknown = `No open connection is known of ${escaped(id)}`;
    if (verb === "block") {
      const end = async () => ({
        grants: await register.endClient(id),
        accounts: 0,
      });
      const isKnown = await register.blocks.find(name) !== undefined;
      return await this.block({ name, isKnown, unknown, end });
    }
    const ended = await register.endClient(id);
    this.audit("Everything of a client ended", { clientId: id, ended });
    // A client has no record of its own, so one that ended before is unknown.
    return this.print(
      { clientId: id, ended },
      ended > 0 ? endedWords(ended) : unknown,
    );
  }

  async #list(): Promise<string> {
    const clients = await this.operator.register.clients();
    const rows = clients.map(({ usedAt, ...client }) => ({
      ...client,
      lastUse: dayText(usedAt),
    }));
    return this.print({ clients }, textTable(rows));
  }
}
