/**
 * The lists of a server.
 *
 * @module
 */
import type { Client, Json, ServerError } from "../client/mod.ts";
import type { CommandLine } from "./command_line.ts";
import { didYouMean, usageFailure } from "./failure.ts";
import { listOf, type Output } from "./output.ts";
import { describeSchema, propertiesOf, requiredOf } from "./schema.ts";
import type { Terminal } from "./terminal.ts";

/**
 * The maximum number of pages of a list that are read, because a list may have
 * no end.
 */
const MAX_PAGES = 100;

/**
 * The title, method and member of a list, and the function that formats an
 * item.
 */
type List = [string, string, string, (item: Json) => string];

const LISTS: readonly List[] = [
  ["Tools", "tools/list", "tools", toolText],
  ["Resources", "resources/list", "resources", resourceText],
  ["Templates", "resources/templates/list", "resourceTemplates", resourceText],
  ["Prompts", "prompts/list", "prompts", promptText],
];

export class Lists {
  constructor(
    private readonly client: Client,
    private readonly terminal: Terminal,
    private readonly signal: AbortSignal,
  ) {}

  async read(method: string, member: string): Promise<Json[]> {
    const { items, hasMore } = await this.client.list(
      method,
      member,
      MAX_PAGES,
      { signal: this.signal },
    );
    if (hasMore) {
      this.terminal.report(`Only the first ${MAX_PAGES} pages are shown`);
    }
    return items;
  }

  /** Shows the tools, or with `all` every list. */
  async show(
    { all, json }: Pick<CommandLine, "all" | "json">,
    output: Output,
  ): Promise<void> {
    const found: Json = {};
    for (const [title, method, member, text] of all ? LISTS : [LISTS[0]]) {
      const items = await this.#readIfThere(method, member);
      found[member] = items;
      if (json) continue;
      if (all) this.terminal.print(`${title}: ${items.length || "none"}`);
      else if (items.length === 0) this.terminal.report("There are no tools");
      for (const item of items) this.terminal.print(text(item));
    }
    if (json) output.printJson(found);
  }

  /** Reads a list; empty if the server does not have the method. */
  async #readIfThere(method: string, member: string): Promise<Json[]> {
    try {
      return await this.read(method, member);
    } catch (error) {
      if ((error as ServerError).code === -32601) return [];
      throw error;
    }
  }
}

/** Finds an item of a list by its name. @throws {Failure} */
export function findNamed(
  target: string,
  items: readonly Json[],
  noun: string,
  option: string,
): Json {
  const item = items.find(({ name }) => name === target);
  if (item) return item;
  const names = items.map(({ name }) => `${name}`);
  throw usageFailure(
    `There is no ${noun} ${target}` +
      (didYouMean(target, names) || `. See ${option}`),
  );
}

function toolText(tool: Json): string {
  const schema = (tool.inputSchema ?? {}) as Json;
  const properties = Object.entries(propertiesOf(schema));
  const required = requiredOf(schema);
  const rows = properties.map(([name, property]) => [
    `${name}=${describeSchema(property, schema)}`,
    [
      required.includes(name) ? "" : "optional",
      property.default === undefined
        ? ""
        : `${JSON.stringify(property.default)} by default`,
      firstLine(property.description),
    ].filter(Boolean).join("; "),
  ]);
  const approval = approvalText(tool);
  return entryText(tool, approval ? [[approval], ...rows] : rows);
}

/** Tells who has to approve the calls of a tool. Undefined if they just run. */
function approvalText({ _meta }: Json): string | undefined {
  const meta = (_meta ?? {}) as Json;
  const waits = meta["tool-server/approval"];
  if (waits === undefined) return undefined;
  const scope = firstLine(meta["tool-server/approver"]);
  const whose = scope
    ? `the approval of someone with the scope ${scope}`
    : "your approval";
  return `(${waits === "always" ? "waits" : "may wait"} for ${whose})`;
}

function promptText(prompt: Json): string {
  const rows = listOf(prompt.arguments).map((it) => [
    `${it.name}=string`,
    [it.required ? "" : "optional", firstLine(it.description)]
      .filter(Boolean).join("; "),
  ]);
  return entryText(prompt, rows);
}

function resourceText(resource: Json): string {
  const name = `${resource.uri ?? resource.uriTemplate}`;
  return entryText({ ...resource, name }, []);
}

function entryText(
  { name, title, description }: Json,
  rows: readonly string[][],
): string {
  const words = firstLine(description) || firstLine(title);
  const width = Math.max(
    0,
    ...rows.map(([left, right]) => right === undefined ? 0 : left.length),
  );
  const line = firstLine(`${name}`);
  return [
    words ? `${line}: ${words}` : line,
    ...rows.map(([left, right]) =>
      `    ${left.padEnd(right ? width : 0)}${right ? `  ${right}` : ""}`
    ),
  ].join("\n");
}

function firstLine(text: unknown): string {
  return typeof text === "string" ? text.trim().split(/\r?\n/)[0] : "";
}
