/**
 * One command: from the command line to its exit code.
 *
 * @module
 */
import {
  Client,
  type ClientOptions,
  type Json,
  type ListedTool,
  type ServerError,
} from "../client/mod.ts";
import { ServerAccess } from "./access.ts";
import { parseArguments, parseArgumentsObject } from "./arguments.ts";
import { type CommandLine, HELP, serverAddress } from "./command_line.ts";
import { CLIENT_NAME } from "./credentials.ts";
import { Exit, Failure, usageFailure, withMcpUrl } from "./failure.ts";
import { finalResult, mayBeTask } from "./handed_over.ts";
import { KeptSignInFile, signInDirectory } from "./kept_sign_in.ts";
import { findNamed, Lists } from "./lists.ts";
import { listOf, Notices, Output, partsOf } from "./output.ts";
import { answer, CAPABILITIES } from "./questions.ts";
import { NO_BROWSER, openBrowser } from "./receiver.ts";
import type { Terminal } from "./terminal.ts";

/** The surroundings of a command. */
export interface Surroundings {
  env(name: string): string | undefined;
  terminal: Terminal;
  /** Fires at Ctrl+C. */
  signal: AbortSignal;
}

export class Command {
  readonly #terminal: Terminal;
  readonly #signal: AbortSignal;
  readonly #options: ClientOptions;
  readonly #output: Output;
  /** The task that is followed. */
  #taskId?: string;

  private constructor(
    private readonly line: CommandLine,
    private readonly access: ServerAccess,
    url: string,
    { terminal, signal }: Surroundings,
  ) {
    this.#terminal = terminal;
    this.#signal = signal;
    this.#output = new Output(terminal, line);
    const notices = new Notices(terminal, line.verb === "task");
    this.#options = {
      url,
      fetch: access.fetch,
      clientInfo: { name: CLIENT_NAME, version: "1" },
      capabilities: CAPABILITIES,
      logLevel: line.log,
      onQuestion: (question) =>
        answer(question, terminal, signal, this.#taskId),
      onNotification: (method, params) => notices.show(method, params),
      onTask: (task) => {
        this.#taskId = task.taskId;
        notices.showTask(task);
      },
      onAnswering: (isAnswering) => notices.showAnswering(isAnswering),
    };
  }

  /** Runs a command and returns its exit code. @throws {Failure} */
  static async run(
    line: CommandLine,
    surroundings: Surroundings,
  ): Promise<number> {
    const { env, terminal, signal } = surroundings;
    if (line.verb === "help") {
      terminal.print(HELP);
      return 0;
    }
    const { url, token } = serverAddress(line.url, env);
    const directory = signInDirectory(env);
    const access = new ServerAccess({
      url,
      token: line.token ?? token,
      headers: line.headers,
      instead: "--token or --header",
      clientId: line.clientId,
      scope: line.scope,
      file: directory === undefined
        ? undefined
        : await KeptSignInFile.of(directory, url),
      show(address) {
        terminal.report(`Sign in here: ${address}`);
        if (!line.browser || openBrowser(address, env) || terminal.hasPerson) {
          return;
        }
        throw new Error(NO_BROWSER);
      },
      signal,
    });
    try {
      return await new Command(line, access, url, surroundings).#run();
    } catch (error) {
      throw withMcpUrl(error, url);
    }
  }

  async #run(): Promise<number> {
    const { verb } = this.line;
    if (verb === "logout") {
      const { url } = this.#options;
      const wasSignedIn = await this.access.logOut();
      this.#terminal.report(
        wasSignedIn ? `Signed out of ${url}` : `Not signed in at ${url}`,
      );
      return 0;
    }
    const client = await this.#connect();
    try {
      switch (verb) {
        case "list":
          await this.#lists(client).show(this.line, this.#output);
          return 0;
        case "prompt":
          return await this.#prompt(client);
        case "task":
          return await this.#follow(client);
        default:
          return await this.#call(client);
      }
    } finally {
      await client.close().catch(() => {});
    }
  }

  /** Makes a client of the latest revision that the server speaks. */
  async #connect(): Promise<Client> {
    const { revision = "2026-07-28" } = this.line;
    const client = new Client({ ...this.#options, revision });
    if (this.line.revision !== undefined) return client;
    try {
      await client.discover();
      return client;
    } catch (error) {
      const { response, status = response?.status } = error as ServerError & {
        status?: number;
      };
      // Before MCP 2026-07-28, servers refuse a request without a session, or a
      // method that they do not know.
      const isOther = status !== undefined && status !== 429 && status < 500;
      if (!isOther) throw error;
      return new Client({ ...this.#options, revision: "2025-11-25" });
    }
  }

  #lists(client: Client): Lists {
    return new Lists(client, this.#terminal, this.#signal);
  }

  async #call(client: Client): Promise<number> {
    const { target, words } = this.line;
    const tools = await this.#lists(client).read("tools/list", "tools");
    const isResource = words.length === 0 &&
      /^[a-z][a-z0-9+.-]*:/i.test(target) &&
      !tools.some(({ name }) => name === target);
    if (isResource) return await this.#readResource(client);
    const tool = findNamed(target, tools, "tool", "--list");
    const args = await this.#arguments((tool.inputSchema ?? {}) as Json);
    // Some arguments are repeated in headers: for that the client needs the
    // tool's schema.
    const caller = client.revision === "2026-07-28"
      ? new Client({ ...this.#options, tools: [tool as Json & ListedTool] })
      : client;
    const signal = this.#signal;
    const call = { name: target, arguments: args };
    const result = await caller.request("tools/call", call, { signal })
      .catch((error) => {
        throw this.#taskId === undefined ? explainCut(error, tool) : error;
      });
    return await this.#showTool(
      mayBeTask(result, call, tools, client)
        ? await finalResult(result, call, client, this.#options, signal)
        : result,
    );
  }

  /** Waits for a task that another command, or another client, began. */
  async #follow(client: Client): Promise<number> {
    if (client.revision !== "2026-07-28") {
      throw usageFailure("--task wants a server of 2026-07-28");
    }
    const taskId = this.line.target;
    // The task is read first, because a stream does not say that a task does
    // not exist.
    await client.read(await client.post("tasks/get", { taskId }, this.#signal));
    try {
      return await this.#showTool(
        await client.follow({ taskId }, { signal: this.#signal }),
      );
    } catch (error) {
      if (!this.#signal.aborted) throw error;
      this.#terminal.report("Stopped waiting: the task goes on");
      return Exit.cancelled;
    }
  }

  async #showTool(result: Json): Promise<number> {
    if (result.isError === true) {
      const { texts } = partsOf(result.content);
      if (this.line.json) this.#output.printJson(result);
      else this.#terminal.report(texts.join("\n") || JSON.stringify(result));
      return Exit.failed;
    }
    await this.#output.show(result, result.content, result.structuredContent);
    return 0;
  }

  async #readResource(client: Client): Promise<number> {
    const uri = this.line.target;
    const options = { signal: this.#signal };
    const result = await client.request("resources/read", { uri }, options);
    await this.#output.show(result, result.contents);
    return 0;
  }

  async #prompt(client: Client): Promise<number> {
    const { target } = this.line;
    const prompts = await this.#lists(client).read("prompts/list", "prompts");
    const prompt = findNamed(target, prompts, "prompt", "--list --all");
    const known = listOf(prompt.arguments);
    const args = await this.#arguments({
      properties: Object.fromEntries(
        known.map(({ name }) => [`${name}`, { type: "string" }]),
      ),
      required: known.filter((it) => it.required).map(({ name }) => name),
    });
    const result = await client.request(
      "prompts/get",
      { name: target, arguments: args },
      { signal: this.#signal },
    );
    const messages = listOf(result.messages);
    await this.#output.show(result, messages.map(({ content }) => content));
    return 0;
  }

  /**
   * Reads the arguments: JSON as one word or from standard input, and
   * `key=value`.
   */
  async #arguments(schema: Json): Promise<Json> {
    const isWhole = (word: string) => word === "-" || word.startsWith("{");
    const { words } = this.line;
    let whole: Json = {};
    for (const word of words.filter(isWhole)) {
      const text = word === "-" ? await this.#terminal.readAll() : word;
      whole = { ...whole, ...parseArgumentsObject(text) };
    }
    return parseArguments(words.filter((it) => !isWhole(it)), schema, whole);
  }
}

/** Explains a call whose connection broke: it may have run all the same. */
function explainCut(error: unknown, { _meta }: Json): unknown {
  const { message, cause = error } = error as Error;
  if (!(cause instanceof TypeError) || /^Nothing listens/.test(message)) {
    return error;
  }
  const again = Object(_meta)["tool-server/approval"] === undefined
    ? ""
    : ". The same command tells what came of a run that was approved";
  const words = `${message}. The call may have run${again}`;
  return new Failure(words, Exit.server, { cause });
}
