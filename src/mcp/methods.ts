/**
 * The method table: what each request asks for and which revisions have it.
 * A method is synchronous where its tool is; most calls then never touch the
 * event loop.
 *
 * @module
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import { ChallengeError, HttpError, RpcCode, RpcError } from "../errors.ts";
import {
  type Context,
  type Prompt,
  type PromptAnswer,
  type Resource,
  type ResourceAnswer,
  type ResourceContents,
  type ToolAnswer,
  ToolError,
} from "./authoring.ts";
import type { Catalogue, CompiledTool, Introduction } from "./catalogue.ts";
import { completionValues } from "./completion.ts";
import { Suspended } from "./input_required.ts";
import { parseBy, type Parsed } from "./json_schema.ts";
import { invalidParams, isObject, type JsonObject } from "./messages.ts";
import { isLoggingLevel } from "./request_meta.ts";
import {
  errorResult,
  inputErrorText,
  resultOf,
  structuredResult,
} from "./tool_result.ts";

/** JSON text of a result, or the bytes of one that was printed beforehand. */
export type Printed = string | Uint8Array<ArrayBuffer>;

/** A request that has passed every check in front of its method. */
export interface Call {
  catalogue: Catalogue;
  introduction: Introduction;
  /** Whether the request belongs to the generation without sessions. */
  stateless: boolean;
  params: JsonObject;
  context: Context;
  /** Tells the log about an exception, under the request's reference. */
  report(error: unknown): void;
  /** Remembers `logging/setLevel`; 2026 says its level in each request. */
  setLogLevel?(level: LoggingLevel): Promise<void>;
}

/** Answers one method. @throws {RpcError} */
export type Method = (call: Call) => Printed | Promise<Printed>;

type MaybePromise<T> = T | Promise<T>;

/** Goes on with a value, at once if it is here already. */
function then<T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

const EMPTY: Method = () => "{}";

/** Methods that both generations have. */
const SHARED: readonly (readonly [string, Method])[] = [
  [
    "tools/list",
    ({ introduction, params }) => introduction.tools.at(params.cursor),
  ],
  ["tools/call", callTool],
  [
    "resources/list",
    ({ introduction, params }) => introduction.resources.at(params.cursor),
  ],
  [
    "resources/templates/list",
    ({ introduction, params }) =>
      introduction.resourceTemplates.at(params.cursor),
  ],
  ["resources/read", readResource],
  [
    "prompts/list",
    ({ introduction, params }) => introduction.prompts.at(params.cursor),
  ],
  ["prompts/get", getPrompt],
  ["completion/complete", complete],
];

/**
 * Methods of 2025 beside `initialize`. Subscribing answers and promises nothing:
 * without a GET stream there is no way to push.
 */
export const SESSION_METHODS: ReadonlyMap<string, Method> = new Map([
  ...SHARED,
  ["ping", EMPTY],
  ["resources/subscribe", EMPTY],
  ["resources/unsubscribe", EMPTY],
  ["logging/setLevel", setLevel],
]);

/** Methods of 2026 beside those that need a stream or a task record. */
export const STATELESS_METHODS: ReadonlyMap<string, Method> = new Map([
  ...SHARED,
  ["server/discover", ({ catalogue }) => catalogue.discovery],
]);

/** -32601; 2026 wants it on HTTP 404. */
export function methodNotFound(method: string, stateless: boolean): RpcError {
  return new RpcError(RpcCode.methodNotFound, `Method not found: ${method}`, {
    status: stateless ? 404 : 200,
  });
}

/**
 * The tool a call names.
 *
 * @throws {RpcError} -32602
 */
export function findTool(
  { tools }: Catalogue,
  { name }: JsonObject,
): CompiledTool {
  const tool = typeof name === "string" ? tools.get(name) : undefined;
  if (tool === undefined) throw invalidParams(`Unknown tool: ${name}`);
  return tool;
}

/** The scopes a request needs; none for a name that nothing has. */
export function scopesFor(
  { tools, prompts, ...catalogue }: Catalogue,
  method: string,
  params: JsonObject,
): readonly string[] {
  switch (method) {
    case "tools/call":
      return tools.get(params.name as string)?.scopes ?? [];
    case "prompts/get":
      return prompts.get(params.name as string)?.scopes ?? [];
    case "resources/read":
      return findResource(catalogue, params.uri)?.resource.scopes ?? [];
    default:
      return [];
  }
}

/** The arguments of a call. @throws {RpcError} -32602 unless an object */
export function argumentsOf(params: JsonObject): JsonObject {
  const { arguments: args = {} } = params;
  if (!isObject(args)) throw invalidParams("arguments is an object");
  return args;
}

function callTool(call: Call): MaybePromise<Printed> {
  const { introduction: { printer }, catalogue, params } = call;
  return then(
    runTool(findTool(catalogue, params), argumentsOf(params), call),
    (result) => printer.result(result),
  );
}

/** Runs a tool and gives its result; only refusals of the request throw. */
export function runTool(
  tool: CompiledTool,
  args: JsonObject,
  call: Pick<Call, "context" | "report" | "stateless">,
): MaybePromise<ReturnType<typeof resultOf>> {
  const run = (parsed: Parsed) =>
    parsed.success
      ? then(
        tool.run(parsed.data as JsonObject, call.context),
        (answer) => judge(tool, answer, call),
      )
      : errorResult(inputErrorText(parsed.error));
  const fail = (error: unknown) => {
    if (error instanceof ToolError) return errorResult(error.message);
    if (isRefusal(error)) throw error;
    call.report(error);
    return errorResult(`Internal error (reference ${call.context.requestId})`);
  };
  try {
    const result = tool.input
      ? then(parseBy(tool.input, args), run)
      : run({ success: true, data: args });
    return result instanceof Promise ? result.catch(fail) : result;
  } catch (error) {
    return fail(error);
  }
}

/** Checks what a tool returned against its output schema. */
function judge(
  { name, output, hasObjectOutput }: CompiledTool,
  answer: unknown,
  { stateless }: Pick<Call, "stateless">,
): MaybePromise<ReturnType<typeof resultOf>> {
  if (output === undefined) return resultOf(answer as ToolAnswer);
  return then(parseBy(output, answer), (parsed) => {
    if (parsed.success) {
      return structuredResult(parsed.data, stateless || hasObjectOutput);
    }
    throw new Error(`tool ${name} broke its output schema`, {
      cause: parsed.error,
    });
  });
}

/** Whether an exception refuses the request itself, whoever threw it. */
export function isRefusal(error: unknown): boolean {
  return error instanceof RpcError || error instanceof ChallengeError ||
    error instanceof HttpError || error instanceof Suspended;
}

/** The resource of a URI and the variables that its template found in it. */
export function findResource(
  { resources, templates }: Pick<Catalogue, "resources" | "templates">,
  uri: unknown,
): { resource: Resource; variables: Record<string, string> } | undefined {
  if (typeof uri !== "string") return undefined;
  const resource = resources.get(uri);
  if (resource) return { resource, variables: {} };
  for (const { template, resource } of templates) {
    const variables = template.match(uri);
    if (variables) return { resource, variables };
  }
  return undefined;
}

function readResource(call: Call): MaybePromise<Printed> {
  const { catalogue, params: { uri }, introduction, context, stateless } = call;
  if (typeof uri !== "string") throw invalidParams("uri is a string");
  const found = findResource(catalogue, uri);
  const missing = () =>
    new RpcError(
      stateless ? RpcCode.invalidParams : RpcCode.resourceNotFound,
      `Resource not found: ${uri}`,
      { data: { uri } },
    );
  if (!found) throw missing();
  const { resource, variables } = found;
  const { ttlSeconds = 0, cacheScope = "private", mimeType } = resource;
  return then(resource.read(variables, context), (answer) => {
    if (answer === undefined) throw missing();
    return introduction.printer.result(
      { contents: contentsOf(answer, uri, mimeType) },
      { ttlMs: ttlSeconds * 1000, cacheScope },
    );
  });
}

function contentsOf(
  answer: ResourceAnswer,
  uri: string,
  mimeType: string | undefined,
): ResourceContents[] {
  if (typeof answer === "string") {
    return [{ uri, mimeType: mimeType ?? "text/plain", text: answer }];
  }
  if (answer instanceof Uint8Array) {
    return [{
      uri,
      mimeType: mimeType ?? "application/octet-stream",
      blob: base64(answer),
    }];
  }
  return answer;
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** The prompt a request names. @throws {RpcError} -32602 */
function findPrompt({ prompts }: Catalogue, name: unknown): Prompt {
  const prompt = typeof name === "string" ? prompts.get(name) : undefined;
  if (prompt === undefined) throw invalidParams(`Unknown prompt: ${name}`);
  return prompt;
}

function getPrompt(call: Call): MaybePromise<Printed> {
  const { catalogue, params, introduction: { printer }, context } = call;
  const { args, get, description } = findPrompt(catalogue, params.name);
  const print = (answer: PromptAnswer) =>
    printer.result({
      ...(description && { description }),
      messages: messagesOf(answer),
    });
  if (!args) return then(get({}, context), print);
  return then(parseBy(args, argumentsOf(params)), (parsed) => {
    if (!parsed.success) throw invalidParams(inputErrorText(parsed.error));
    return then(get(parsed.data as JsonObject, context), print);
  });
}

function messagesOf(answer: PromptAnswer) {
  if (typeof answer === "string") {
    return [{ role: "user", content: { type: "text", text: answer } }];
  }
  return Array.isArray(answer) ? answer : [answer];
}

function setLevel({ params: { level }, setLogLevel }: Call): Promise<Printed> {
  if (!isLoggingLevel(level)) throw invalidParams("level is a logging level");
  return setLogLevel!(level).then(() => "{}");
}

function complete(
  { catalogue, params, introduction: { printer } }: Call,
): MaybePromise<Printed> {
  return then(
    completionValues(catalogue, params),
    (completion) => printer.result({ completion }),
  );
}
