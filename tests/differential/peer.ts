/**
 * The SDK's own server with the same catalogue: its handler for 2026-07-28,
 * and its transport with sessions for the revisions before.
 *
 * @module
 */
import {
  acceptedContent,
  completable,
  createMcpHandler,
  hostHeaderValidationResponse,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
  ResourceTemplate,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Context } from "../../src/authoring/context.ts";
import type { Prompt } from "../../src/authoring/prompt.ts";
import type {
  CompleteContext,
  Resource,
} from "../../src/authoring/resource.ts";
import type { Tool } from "../../src/authoring/tool.ts";
import { catalogue } from "./catalogue.ts";
import { initializeRequest } from "./messages.ts";

/** An empty context: most of the catalogue uses none. */
const NO_CONTEXT = {} as Context;

/** A form that the catalogue's tools ask with. */
type Form = { key: string; message: string; schema: z.ZodObject };

/** Ends a tool that has to wait for an answer. */
class Waiting extends Error {
  constructor(readonly form: Form) {
    super(form.message);
  }
}

/** The SDK as a server. */
export class Peer implements AsyncDisposable {
  #sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  #modern = createMcpHandler(makeServer, { legacy: "reject" });

  async fetch(request: Request): Promise<Response> {
    const refused =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
        originValidationResponse(request, localhostAllowedOrigins());
    if (refused) return refused;
    if (!await isLegacyRequest(request)) {
      return await this.#modern.fetch(request);
    }
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : this.#sessions.get(id);
    const transport = known ?? await this.#openTransport(id);
    return await transport.handleRequest(request);
  }

  /**
   * Makes a transport for a new session, or for the refusal of an unknown one.
   */
  async #openTransport(id: string | null) {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      enableJsonResponse: true,
      onsessioninitialized: (id) => void this.#sessions.set(id, transport),
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    await makeServer().connect(transport);
    if (id !== null) await initialize(transport);
    return transport;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#modern.close();
    for (const transport of this.#sessions.values()) await transport.close();
  }
}

/** Initializes a transport, which can then recognize unknown sessions. */
async function initialize(
  transport: WebStandardStreamableHTTPServerTransport,
): Promise<void> {
  const response = await transport.handleRequest(
    initializeRequest("2025-11-25"),
  );
  await response.body?.cancel();
}

function makeServer(): McpServer {
  const server = new McpServer({ name: "peer", version: "1.0.0" }, {
    capabilities: { logging: {}, resources: { subscribe: true } },
  });
  for (const tool of catalogue.tools) registerTool(server, tool);
  for (const resource of catalogue.resources) {
    registerResource(server, resource);
  }
  for (const prompt of catalogue.prompts) registerPrompt(server, prompt);
  return server;
}

function registerTool(
  server: McpServer,
  { name, description, input, output, run }: Tool,
): void {
  server.registerTool(
    name,
    { description, inputSchema: input ?? z.object({}), outputSchema: output },
    async (args, { mcpReq: { inputResponses } }) => {
      const ask = (form: Form) => {
        const view = inputResponse(inputResponses, form.key);
        if (view.kind === "elicit" && view.action !== "accept") return view;
        const content = acceptedContent(inputResponses, form.key, form.schema);
        if (content) return { action: "accept", content };
        throw new Waiting(form);
      };
      let answer;
      try {
        answer = await run(args as never, { ask } as unknown as Context);
      } catch (error) {
        if (error instanceof Waiting) return questionOf(error.form);
        throw error;
      }
      if (typeof answer === "string") {
        return { content: [{ type: "text" as const, text: answer }] };
      }
      const text = JSON.stringify(answer);
      return {
        content: [{ type: "text" as const, text }],
        structuredContent: answer as Record<string, unknown>,
      };
    },
  );
}

function questionOf({ key, message, schema: requestedSchema }: Form) {
  const form = inputRequired.elicit({ message, requestedSchema });
  return inputRequired({ inputRequests: { [key]: form } });
}

function registerResource(
  server: McpServer,
  { uri, name, description, mimeType, complete, read }: Resource,
): void {
  const contents = async (href: string, variables: Record<string, string>) => {
    const text = await read(variables, NO_CONTEXT) as string;
    return { contents: [{ uri: href, mimeType, text }] };
  };
  if (!uri.includes("{")) {
    server.registerResource(
      name,
      uri,
      { description, mimeType },
      ({ href }) => contents(href, {}),
    );
    return;
  }
  const template = new ResourceTemplate(uri, {
    list: undefined,
    complete: Object.fromEntries(
      Object.entries(complete ?? {}).map(([variable, propose]) => [
        variable,
        async (
          value: string,
        ) => [...await propose(value, {}, {} as CompleteContext)],
      ]),
    ),
  });
  server.registerResource(
    name,
    template,
    { description, mimeType },
    ({ href }, variables) =>
      contents(href, variables as Record<string, string>),
  );
}

function registerPrompt(
  server: McpServer,
  { name, description, args, complete = {}, get }: Prompt,
): void {
  const message = async (values: Record<string, unknown>) => {
    const text = await get(values as never, NO_CONTEXT) as string;
    return {
      messages: [
        { role: "user" as const, content: { type: "text" as const, text } },
      ],
    };
  };
  if (!args) {
    server.registerPrompt(name, { description }, () => message({}));
    return;
  }
  const shape = Object.entries(args.shape).map(([argument, schema]) => {
    const propose = complete[argument as keyof typeof complete];
    return [
      argument,
      propose
        ? completable(
          (schema as z.ZodString).clone(),
          async (
            value: string,
          ) => [...await propose(value, {}, {} as CompleteContext)],
        )
        : schema,
    ];
  });
  server.registerPrompt(
    name,
    { description, argsSchema: z.object(Object.fromEntries(shape)) },
    (values) => message(values),
  );
}
