/**
 * The tools of another MCP server as a source of tools. The author can read
 * that server's texts in files, and in a diff, before any model does.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { McpConnections } from "../../src/features/mcp_servers/connections.ts";
import { boundedResponse } from "../../src/core/net/bounded_answer.ts";
import { messageOf } from "../../src/core/thrown.ts";
import { Failure } from "../call/failure.ts";
import { Client, type ClientOptions, SignIn } from "../client/mod.ts";
import { PACKAGE } from "../create/source.ts";
import { tokensOfTool } from "../doctor/list_cost.ts";
import { ImportError, reading, shortLine } from "./document.ts";
import {
  capital,
  isLossy,
  literal,
  objectCode,
  snakeCase,
  toolVariable,
  uniqueName,
} from "./names.ts";
import { withFullStop } from "./operations.ts";
import { sampleOf } from "./sample.ts";
import { Schemas, shortText } from "./schema.ts";
import {
  guarded,
  type ImportItem,
  type ImportSource,
  type ServiceNames,
  titleFor,
} from "./source.ts";
import { fullInput } from "./test_code.ts";
import { APPROVAL_CODE, inputCode, type ToolArgument } from "./tool_code.ts";

/** The maximum number of tools that are read. */
const MAX_TOOLS = 2000;
const MAX_PAGES = 40;

/** The maximum number of bytes of all responses of a server together. */
const MAX_BYTES = 8 * 1024 * 1024;

const MAX_DESCRIPTION = 1000;

/** A tool as its server lists it. */
interface McpItem extends ImportItem {
  /**
   * Returns the tool as it was listed.
   *
   * @throws {ImportError} if no tool can call it
   */
  listed(): JsonObject;
}

type Send = (request: Request) => Promise<Response>;

/**
 * Reads the tools of a server.
 *
 * @param end ends all requests
 * @param send sends a request, and signs in if necessary
 * @param ask sends a request without credentials
 * @throws {ImportError} with a message for the author
 */
export async function mcpSource(
  url: string,
  end: AbortSignal,
  send: Send,
  ask: Send = fetch,
): Promise<ImportSource<McpItem>> {
  const long = () =>
    new ImportError(`its answers have more than ${MAX_BYTES} bytes`);
  let left = MAX_BYTES;
  const hold = {
    add(bytes: number) {
      left -= bytes;
      if (left < 0) throw long();
    },
    release() {},
  };
  const bounded = (one: Send): Send => async (request) => {
    const signal = AbortSignal.any([request.signal, end]);
    const response = await one(new Request(request, { signal }));
    return boundedResponse(response, MAX_BYTES, long, hold, signal);
  };
  const options: ClientOptions = {
    url,
    clientInfo: { name: "tool-server-import", version: "1" },
    fetch: bounded(send),
  };
  const listed = await list(options, bounded(ask));
  return guarded(reading(() => sourceOf(url, listed)));
}

function sourceOf(
  url: string,
  { info, tools, signIn, revision }: Awaited<ReturnType<typeof list>>,
): ImportSource<McpItem> {
  const names = new Set<string>();
  const items = tools.map((listed): McpItem => {
    const name = listed.name as string;
    return {
      // No tool may have the id of a service's file, or one like that of a
      // test.
      id: name.replace(/^(?=service$|test of |tool )/, "tool "),
      aliases: [name],
      name: uniqueName(snakeCase(name) || "tool", names, "_"),
      group: "",
      isDeprecated: false,
      tokens: () => tokensOfTool(callable(listed, revision)),
      listed: () => callable(listed, revision),
    };
  });
  const title = shortLine(info.title ?? info.name ?? new URL(url).host, 60);
  return {
    title: `${title} ${shortLine(info.version ?? "", 20)}`.trim() +
      ", an MCP server",
    name: snakeCase(title, 40) || "server",
    address: url,
    items,
    what: "tool",
    isServer: true,
    left: [],
    write: (names) => ({
      service: serviceCode(names, url, titleFor(title, names), signIn),
      notes: signIn === "key" ? [PASTED] : [],
      isPersonal: signIn !== "open",
      tool: ({ listed }, name) => toolCode(listed(), name, names),
    }),
  };
}

/**
 * Returns a tool as it was listed.
 *
 * @throws {ImportError} if it can only be called as a task of MCP 2025-11-25
 */
function callable(listed: JsonObject, revision?: string): JsonObject {
  const { taskSupport } = Object(listed.execution);
  if (taskSupport !== "required" || revision === "2026-07-28") return listed;
  throw new ImportError("It runs only as a task, of the revision of 2025.");
}

type SignInKind = "open" | "account" | "key";

const PASTED = "It names no OAuth sign-in, so each person pastes a key: say " +
  "where they find it, as the help of key in the service's file.";

/**
 * Finds out if people sign in at a server by OAuth, by a key, or not at all.
 *
 * @throws {ImportError} for a response that does not tell, such as 503
 */
async function signInOf(
  { url, revision }: ClientOptions,
  ask: Send,
): Promise<SignInKind> {
  const method = revision === "2026-07-28" ? "server/discover" : "initialize";
  const { headers, body } = await new Client({ url, revision }).encode(method);
  const send = async (at: string, more: RequestInit = {}) => {
    const response = await ask(
      new Request(at, { ...more, redirect: "manual" }),
    );
    await response.body?.cancel();
    const { ok, status, headers } = response;
    const isJson = /json/.test(headers.get("content-type") ?? "");
    return { ok, status, headers, isPage: ok && !isJson };
  };
  const unclear = (at: string, status: number) =>
    new ImportError(
      `without credentials, ${at} answers ${status}, which does not tell how ` +
        "people sign in. Nothing was checked or written: try again",
    );
  const refusal = await send(url, { method: "POST", headers, body });
  if (refusal.ok) return "open";
  if (refusal.status !== 401 && refusal.status !== 403) {
    throw unclear(url, refusal.status);
  }
  const { metadataUrl } = SignIn.parseChallenge(refusal.headers);
  if (metadataUrl !== undefined) return "account";
  const { origin, pathname } = new URL(url);
  for (const path of [pathname, ""]) {
    const place = `${origin}/.well-known/oauth-protected-resource${path}`;
    const { ok, status, isPage } = await send(place);
    if (ok && !isPage) return "account";
    const isAbsent = isPage
      // Some sites answer every unknown address with a page.
      ? (await send(`${origin}/.well-known/${crypto.randomUUID()}`)).isPage
      : status >= 400 && status < 500 && ![408, 425, 429].includes(status);
    if (!isAbsent) throw unclear(place, status);
  }
  return "key";
}

/** Reads the name of a server, and its list of tools. */
async function list(options: ClientOptions, ask: Send) {
  const { url } = options;
  try {
    const way = await new McpConnections().find("", "", options);
    await new Client({ ...options, ...way }).close();
    const client = new Client({ ...options, revision: way.revision });
    const { serverInfo, _meta } = await client.discover();
    const key = "io.modelcontextprotocol/serverInfo";
    const info = Object(serverInfo ?? Object(_meta)[key]);
    const { items, hasMore } = await client
      .list("tools/list", "tools", MAX_PAGES);
    await client.close();
    // The name of a tool must fit into the first line of its file, and be its
    // own.
    const tools = [...new Map(items.map((it) => [it.name, it])).values()]
      .filter(({ name }) =>
        typeof name === "string" && name !== "" && name === shortLine(name, 256)
      );
    if (items.length > MAX_TOOLS) {
      throw new ImportError(`it has more than ${MAX_TOOLS} tools`);
    }
    if (hasMore) {
      throw new ImportError(`its list has more than ${MAX_PAGES} pages`);
    }
    const signIn = await signInOf({ url, ...way }, ask);
    return { info, tools, signIn, ...way };
  } catch (error) {
    throw new ImportError(
      withFullStop(
        `${shortLine(url)} gave no list of tools: ${
          shortLine(messageOf(error))
        }`,
      ),
      error instanceof Failure ? error.exitCode : undefined,
    );
  }
}

function serviceCode(
  { name, variable }: ServiceNames,
  url: string,
  title: string,
  signIn: SignInKind,
): string {
  const more = { open: "open: true,\n", key: "key: {},\n", account: "" };
  return `import { mcpServer } from "${PACKAGE}";\n\n` +
    `/** ${title.replaceAll("*/", "* /")}, an MCP server. */\n` +
    `export const ${variable} = mcpServer(${
      literal(name.replaceAll("_", "-"))
    }, {\nurl: ${literal(url)},\ntitle: ${literal(title)},\n` +
    `${more[signIn]}});\n`;
}

/**
 * Generates the code of a tool and its test.
 *
 * @throws {ImportError} for an unusable schema
 */
function toolCode(
  listed: JsonObject,
  name: string,
  { name: file, variable }: ServiceNames,
) {
  const id = listed.name as string;
  const root = isObject(listed.inputSchema) ? listed.inputSchema : {};
  const required = Array.isArray(root.required) ? root.required : [];
  const properties = isObject(root.properties) ? root.properties : {};
  const schemas = new Schemas({ root });
  const members: [string, ToolArgument][] = Object.entries(properties)
    .map(([member, schema]) => [member, {
      schema: schemas.plain(schema),
      isOptional: !required.includes(member),
    }]);
  const own = toolVariable(name, variable);
  const title = listed.title ?? Object(listed.annotations).title ??
    (isLossy(id) ? id : capital(snakeCase(id).replaceAll("_", " ")) || id);
  const description = shortText(listed.description, MAX_DESCRIPTION);
  const { consts, notes, input, cast } = inputCode(
    new Map(members),
    schemas,
    [variable, own, "input"],
  );
  const hasInput = input !== "";
  const given: JsonObject = Object(listed.annotations);
  const hints = {
    readOnlyHint: false,
    destructiveHint: given.readOnlyHint !== true,
    idempotentHint: false,
    openWorldHint: true,
  };
  const told = Object.entries(hints).map(([hint, byDefault]) =>
    `${hint}: ${typeof given[hint] === "boolean" ? given[hint] : byDefault},\n`
  ).join("");
  const isApproved = given.destructiveHint === true;
  const client = isApproved ? 'server.as({ subject: "ada" })' : "server";
  const options = isApproved ? 'needs, approval: "approve"' : "needs";
  const { components } = schemas;
  const sample = fullInput(
    Object.fromEntries(
      members.filter(([, { isOptional }]) => !isOptional)
        .map(([name, { schema }]) => [name, sampleOf(schema, { components })]),
    ),
    new Map(members),
    components,
  );
  const shown = literal(sample);
  const answering = shown === "{}"
    ? '"done"'
    : `(input: unknown) => {\nassert.deepEqual(input, ${shown});\n` +
      'return "done";\n}';
  return {
    notes,
    isApproved,
    tool: `import { tool${hasInput ? ", z" : ""} } from "${PACKAGE}";\n` +
      `import { ${variable} } from "../services/${file}.ts";\n\n${consts}` +
      `export default tool({\nname: "${name}",\n` +
      `title: ${literal(shortLine(title, 80))},\n` +
      `description: ${literal(description)},\n` +
      `${input}needs: { ${variable} },\n${isApproved ? APPROVAL_CODE : ""}` +
      `annotations: {\n${told}},\n` +
      `run: (${hasInput ? "input" : "_input"}, { needs }) =>\n` +
      `needs.${variable}.call(${literal(id)}${
        hasInput ? ", input" : ""
      }),\n});\n`,
    test: `import assert from "node:assert/strict";\n` +
      `import { testMcpServer, testServer } from "${PACKAGE}/testing";\n` +
      `import ${own} from "./${name}.ts";\n\n` +
      `Deno.test(${literal(`${name} calls ${id}`)}, async () => {\n` +
      `const ${variable} = testMcpServer(${objectCode([[id, answering]])});\n` +
      `await using server = await testServer({ tools: [${own}] });\n` +
      `const needs = { ${variable} };\n` +
      `const { text } = await ${client}.call(${own}, ${shown}${cast}, ` +
      `{ ${options} });\nassert.equal(text, "done");\n});\n`,
  };
}
