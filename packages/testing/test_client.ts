/**
 * A client in a test: one caller with all methods of a client.
 *
 * @module
 */
import { costWords } from "../doctor/list_cost.ts";
import * as kinds from "../../src/authoring/options.ts";
import type { Prompt } from "../../src/authoring/prompt.ts";
import type {
  Resource,
  ResourceContents,
} from "../../src/authoring/resource.ts";
import type { Tool } from "../../src/authoring/tool.ts";
import type { JsonObject } from "../../src/core/json.ts";
import {
  type TestApproval,
  TestApprovals,
  type TestPress,
} from "./test_approvals.ts";
import type { TestCaller } from "./test_gate.ts";
import { Conversation, type Target } from "./conversation.ts";
import type {
  CallArguments,
  Listed,
  ListedSkill,
  ListedTool,
  PromptResult,
  ReadResult,
  RequestOptions,
  TestView,
} from "./test_request.ts";
import { TestResult, textOf } from "./test_result.ts";
import { TestSubscription } from "./test_subscription.ts";
import { TestTask } from "./test_task.ts";

/** The options of a client's `approve`. */
const APPROVE_OPTIONS = { passkey: kinds.FLAG };

/** The checker of a tool, or of its name. */
const TOOL_OR_NAME = kinds.like(
  "a tool or its name",
  (it) => typeof nameOf(it as Tool) === "string",
);

/** A client, as one caller. Every method rejects with the server's refusal. */
export class TestClient {
  /** Made by a test server's `as`. */
  constructor(
    protected readonly target: Target,
    private readonly caller: TestCaller,
  ) {}

  /**
   * Calls a tool and waits for its result. If the call becomes a task, waits
   * for the end of the task, even if the server only says so in words. The
   * result is typed if you pass the tool itself, not its name.
   *
   * @throws {import("./failures.ts").RefusedError} for an unknown tool, a
   * missing scope, or any other refusal of the server
   * @throws {Error} for an exception of the tool, unless it was a `ToolError`
   */
  async call<I, O>(
    tool: string | Tool<I, O>,
    ...more: CallArguments<I>
  ): Promise<TestResult<O>> {
    const [request, result] = await this.#call(tool, more);
    const [input = {}, { approval } = {}] = more;
    const isTask = result.resultType === "task";
    if (isTask) request.begin();
    const done = isTask
      ? await new TestTask<O>(`${result.taskId}`, request).result()
      : new TestResult<O>(await request.resultOf(result, input), request);
    if (!approval || request.hasPressed || done.isError) return done;
    const why = `${request.what} ran without waiting for an approval`;
    throw new Error(`${why}. Leave the option approval out if that is right`);
  }

  /**
   * Starts a tool's work as a task (MCP 2026-07-28) without waiting for it. If
   * the work waits for an approval, it has asked by then.
   *
   * @throws {Error} if the tool or the revision has no tasks
   */
  async startTask<I, O>(
    tool: string | Tool<I, O>,
    ...more: CallArguments<I>
  ): Promise<TestTask<O>> {
    const [, options] = more;
    const revision = options?.revision ?? this.target.revision;
    const why = `${nameOf(tool)} cannot become a task: `;
    if (revision !== "2026-07-28") {
      throw new Error(`${why}${revision} has none. Use another revision.`);
    }
    const [request, { resultType, taskId }] = await this.#call(tool, more);
    if (resultType === "task") {
      request.isPressedLater = true;
      const task = new TestTask<O>(`${taskId}`, request);
      const { approval } = this.target.catalogue.tools.get(nameOf(tool)) ?? {};
      if (approval) await request.asked(`${taskId}`);
      request.beginSoon();
      return task;
    }
    throw new Error(`${why}it must declare task: "optional" or "required".`);
  }

  /**
   * Approves the newest call that waits for this caller (with `tool`: the
   * newest of that tool), as on its page. A task then continues. Returns the
   * facts that the page shows.
   *
   * @throws {Error} if none waits within 2 seconds
   */
  async approve(
    tool?: string | Tool,
    options: {
      /** True to approve with a software passkey. */
      passkey?: boolean;
    } = {},
  ): Promise<TestApproval> {
    kinds.checkOptions("approve", APPROVE_OPTIONS, options);
    return await this.#press(tool, options.passkey ? "passkey" : "approve");
  }

  /**
   * Refuses the newest call that waits for this caller, with a reason for the
   * model. @throws {Error} if none waits
   */
  async refuse(reason = "", tool?: string | Tool): Promise<TestApproval> {
    kinds.checkOptions("refuse", { reason: kinds.TEXT }, { reason });
    return await this.#press(tool, { refuse: reason });
  }

  /** Reads a resource. */
  async read(uri: string, options?: RequestOptions): Promise<ReadResult> {
    const request = this.#request(uri, options);
    const result = await request.run("resources/read", { uri });
    const contents = result.contents as ResourceContents[];
    const text = contents.flatMap(({ text }) => text ?? []).join("\n");
    return { contents, text };
  }

  /**
   * Reads a tool's view, as a client does before it shows one. The data that
   * the view then gets is in the result of `call`: `structured`, `text` and
   * `meta`.
   *
   * @throws {Error} if the tool is not listed, or has no view
   */
  async view(tool: string | Tool, options?: RequestOptions): Promise<TestView> {
    const name = nameOf(tool);
    const tools = await this.#list<ListedTool>("tools", "tools/list", options);
    const listed = tools.find((it) => it.name === name);
    const { resourceUri } = (listed?._meta?.ui ?? {}) as JsonObject;
    if (typeof resourceUri !== "string") {
      throw new Error(`${name} ${listed ? "has no view" : "is not listed"}`);
    }
    const { contents: [{ uri, text = "", _meta = {} }] } = await this.read(
      resourceUri,
      options,
    );
    return { uri, html: text, meta: _meta };
  }

  /** Gets a prompt, filled in with arguments. */
  async prompt(
    prompt: string | Prompt,
    args: Record<string, string> = {},
    options?: RequestOptions,
  ): Promise<PromptResult> {
    const name = nameOf(prompt);
    const request = this.#request(name, options);
    const { messages, description } = await request.run("prompts/get", {
      name,
      arguments: args,
    }) as Pick<PromptResult, "messages" | "description">;
    const text = textOf(messages.map(({ content }) => content));
    return {
      messages,
      text,
      ...(description !== undefined && { description }),
    };
  }

  /**
   * Asks for completions of an argument of a prompt, or of a variable of a
   * resource's template.
   *
   * @param of the prompt or the resource, or a prompt's name or a template
   * @param known the other arguments so far
   */
  async complete(
    of: string | Prompt | Resource,
    argument: string,
    value: string,
    known?: Record<string, string>,
    options?: RequestOptions,
  ): Promise<string[]> {
    const name = typeof of === "object" && of.kind === "resource"
      ? of.uri
      : nameOf(of);
    const ref = name.includes(":")
      ? { type: "ref/resource", uri: name }
      : { type: "ref/prompt", name };
    const { completion } = await this.#request(name, options).run(
      "completion/complete",
      {
        ref,
        argument: { name: argument, value },
        ...(known && { context: { arguments: known } }),
      },
    ) as { completion: { values: string[] } };
    return completion.values;
  }

  /**
   * Lists everything that the server offers, as clients get it, without the two
   * built-in tools.
   */
  async list(options?: RequestOptions): Promise<Listed> {
    const tools = await this.#list<ListedTool>("tools", "tools/list", options);
    const { taskTools } = this.target.catalogue;
    const own = tools.filter(({ name }) => !taskTools.has(name));
    return {
      tools: own,
      cost: costWords(own),
      resources: await this.#list("resources", "resources/list", options),
      resourceTemplates: await this.#list(
        "resourceTemplates",
        "resources/templates/list",
        options,
      ),
      prompts: await this.#list("prompts", "prompts/list", options),
    };
  }

  /**
   * Lists the skills of a server. `read` reads their files.
   *
   * @throws {import("./failures.ts").RefusedError} if the server has no skills
   */
  async skills(options?: RequestOptions): Promise<ListedSkill[]> {
    return await this.#list("skills", "skills/list", options);
  }

  /**
   * Listens to changes of every list and of some resources, as a client of
   * 2026-07-28.
   *
   * @example
   * ```ts ignore
   * await using changes = await server.listen("notes://1");
   * await server.call(editNote, { id: 1 });
   * assert.deepEqual(await changes.next(), { uri: "notes://1" });
   * ```
   */
  async listen(...uris: string[]): Promise<TestSubscription> {
    const options = { revision: "2026-07-28" } as const;
    const request = this.#request("subscriptions/listen", options);
    return await TestSubscription.open(request, uris);
  }

  /**
   * Sends any request to the server as this caller, for example to your own
   * route.
   */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(this.target.gate.admit(this.caller));
    for (const [name, value] of new Headers(init.headers)) {
      headers.set(name, value);
    }
    const url = this.target.mcpUrl.replace(/\/mcp$/, path);
    return await this.target.send(new Request(url, { ...init, headers }));
  }

  #press(
    tool: string | Tool | undefined,
    press: TestPress,
  ): Promise<TestApproval> {
    const what = typeof press === "object" ? "refuse" : "approve";
    kinds.checkOptions(what, { tool: TOOL_OR_NAME }, { tool });
    const { approvals, catalogue } = this.target;
    const tools = catalogue.tools.values();
    const person = TestApprovals.approverOf(this.caller, tools);
    return approvals.pressNext(person, tool && nameOf(tool), press);
  }

  async #call(
    tool: string | Tool,
    [input = {}, options]: [input?: unknown, options?: RequestOptions],
  ): Promise<[Conversation, JsonObject]> {
    const name = nameOf(tool);
    const request = this.#request(name, options);
    return [request, await request.call({ name, arguments: input })];
  }

  async #list<T>(
    member: keyof Listed | "skills",
    method: string,
    options?: RequestOptions,
  ): Promise<T[]> {
    const request = this.#request(method, options);
    const { items } = await request.attempt(() =>
      request.client.list(method, member, Infinity, options)
    );
    return items as T[];
  }

  #request(what: string, options?: RequestOptions): Conversation {
    return new Conversation(this.target, what, this.caller, options);
  }
}

function nameOf(item: string | { name: string }): string {
  return typeof item === "string" ? item : item.name;
}
