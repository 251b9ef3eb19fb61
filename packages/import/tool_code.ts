/**
 * The code of an operation's tool, and of its test.
 *
 * @module
 */
import {
  type ApiRequest,
  callApi,
  type ParameterValues,
  styled,
} from "../../src/api.ts";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { PACKAGE } from "../create/source.ts";
import { shortLine } from "./document.ts";
import { camelCase, literal, memberName, objectCode } from "./names.ts";
import { INHERITED_NAMES } from "../../src/core/protocol/json_schema.ts";
import type { Body, Details, Operation, Parameter } from "./operations.ts";
import { usualStyle } from "../../src/authoring/parameter_style.ts";
import { sampleOf, type SampleOptions } from "./sample.ts";
import type { PlainSchema, Schemas } from "./schema.ts";
import { checkWrittenOut } from "./written_out.ts";
import type { UsedService } from "./service_code.ts";
import type { ToolFiles } from "./source.ts";
import { ZodCode } from "./zod_code.ts";

/** The name of the argument that becomes a request's body. */
export const BODY_NAME = "body";

/** The source lines for a tool whose calls a person must approve. */
export const APPROVAL_CODE =
  "// A person approves each call: take this out if they need not.\napproval: {},\n";

export function toolCode(
  operation: Operation,
  details: Details,
  name: string,
  file: string,
  service: UsedService,
): ToolFiles {
  const { variable } = service;
  const isSafe = ["GET", "HEAD", "QUERY"].includes(operation.method);
  const schemas = toolArguments(details);
  const { consts, notes, input, cast } = inputCode(
    schemas,
    details.schemas,
    [variable, camelCase(name, "tool")],
  );
  const request = requestCode(details, service);
  const given = service.isPersonal ? "needs" : "services";
  const context = [given, ...service.keys ? ["settings"] : [], "signal"];
  const taken = input !== ""
    ? `{ ${[...schemas.keys()].join(", ")} }`
    : "_input";
  const calls = request.includes("styled(") ? "callApi, styled" : "callApi";
  const isIdempotent = isSafe || /^(PUT|DELETE)$/.test(operation.method);
  const used = [variable, ...service.keys ? [service.keys] : []].join(", ");
  return {
    tool: `import { tool${input !== "" ? ", z" : ""} } from "${PACKAGE}";\n` +
      `import { ${calls} } from "${PACKAGE}/api";\n` +
      `import { ${used} } from "../services/${file}.ts";\n\n${consts}` +
      `export default tool({\nname: "${name}",\n` +
      `title: ${literal(operation.title)},\n` +
      `description: ${literal(operation.description)},\n${input}` +
      `${given}: { ${variable} },\n` +
      (service.keys ? `settings: ${service.keys},\n` : "") +
      (operation.method === "DELETE" ? APPROVAL_CODE : "") +
      `annotations: {\nreadOnlyHint: ${isSafe},\n` +
      `destructiveHint: ${!isSafe},\n` +
      `idempotentHint: ${isIdempotent},\nopenWorldHint: true,\n},\n` +
      `run: (${taken}, { ${context.join(", ")} }) =>\n` +
      `callApi(${given}.${variable}, ${literal(operation.id)}, ` +
      `${request}),\n});\n`,
    test: testCode(operation, details, name, service, cast),
    notes,
  };
}

/**
 * Matches a member with a name that every object inherits: TypeScript takes the
 * inherited function for its absent value.
 */
const ODD = new RegExp(`\\b(?:${INHERITED_NAMES.join("|")}): `);

export interface ToolArgument {
  schema: PlainSchema;
  isOptional: boolean;
}

/**
 * Generates the code of a tool's input, if it has arguments, and of the
 * constants before the tool.
 *
 * @param taken the names that the file already has
 * @throws {ImportError} for schemas that no model can use
 */
export function inputCode(
  schemas: ReadonlyMap<string, ToolArgument>,
  { components, notes }: Schemas,
  taken: readonly string[],
): { consts: string; notes: string[]; input: string; cast: string } {
  const roots = [...schemas.values()].map(({ schema }) => schema);
  checkWrittenOut(roots, components);
  const names = new Set([...taken, ...schemas.keys()]);
  const zod = new ZodCode(components, roots, names);
  const members = [...schemas].map(([argument, { schema, isOptional }]) =>
    `${memberName(argument)}: ${zod.print(schema, { isOptional })},\n`
  ).join("");
  const input = members && `input: z.object({\n${members}}),\n`;
  const left = [...zod.left].map((it) => `leaves ${shortLine(it)} unchecked`);
  const { consts } = zod;
  const cast = ODD.test(consts + input) ? " as never" : "";
  return { consts, notes: [...notes, ...left], input, cast };
}

export function toolArguments(
  { parameters, body }: Details,
): Map<string, ToolArgument> {
  const found = new Map(
    parameters.map(({ argument, schema, required }) => [
      argument,
      { schema, isOptional: !required },
    ]),
  );
  if (body) {
    const { schema, required } = body;
    found.set(BODY_NAME, { schema, isOptional: !required });
  }
  return found;
}

/** The members of a request, by the locations of its parameters. */
const PLACES = {
  path: "path",
  query: "query",
  header: "headers",
  cookie: "cookies",
} as const;

/** Generates the code with which a tool calls the API. */
function requestCode(details: Details, { along }: UsedService): string {
  const { parameters, body } = details;
  const members: [string, string][] = [];
  for (const [place, member] of Object.entries(PLACES)) {
    const values = parameters.filter((it) => it.place === place)
      .map((it): [string, string] => [it.name, valueCode(it)]);
    for (const key of along.filter((it) => it.place === member)) {
      values.push([key.name, `settings.${key.setting}`]);
    }
    if (values.length > 0) members.push([member, objectCode(values)]);
  }
  if (body) {
    members.push([body.kind, bodyCode(body, details)]);
    if (body.type) members.push(["contentType", literal(body.type)]);
  }
  return objectCode([...members, ["signal", "signal"]]);
}

function valueCode({ argument, isJson, style, options, place }: Parameter) {
  if (isJson) return `JSON.stringify(${argument})`;
  return styledCode(
    argument,
    style ?? usualStyle(place),
    options,
    style !== undefined,
  );
}

function styledCode(
  code: string,
  style: string,
  options: Parameter["options"],
  isOther: boolean,
): string {
  const hasOptions = Object.keys(options).length > 0;
  if (!isOther && !hasOptions) return code;
  const more = hasOptions
    ? `, ${objectCode(Object.entries(options).map(([k, v]) => [k, `${v}`]))}`
    : "";
  return `styled(${code}, "${style}"${more})`;
}

/** Returns the styles of those form members that the schema declares. */
function stylesOf({ styles, schema }: Body, { schemas }: Details) {
  const { properties } = schemas.target(schema);
  return [...styles]
    .filter(([name]) =>
      properties?.has(name) && !INHERITED_NAMES.includes(name)
    );
}

function bodyCode(body: Body, details: Details): string {
  const styles = body.kind === "form" ? stylesOf(body, details) : [];
  if (styles.length === 0) return BODY_NAME;
  const mark = body.required ? "" : "?.";
  const members = styles.map(([name, { style, options }]) => {
    const isBare = memberName(name) === name;
    const member = isBare
      ? `${BODY_NAME}${mark || "."}${name}`
      : `${BODY_NAME}${mark}[${literal(name)}]`;
    return `${memberName(name)}: ${styledCode(member, style!, options, true)}`;
  });
  return `{ ...${BODY_NAME}, ${members.join(", ")} }`;
}

/**
 * Makes sample arguments of a call that are valid in the document.
 *
 * @param all true to include optional ones
 */
export function sampleInput(details: Details, all = false): JsonObject {
  const options: SampleOptions = { components: details.schemas.components };
  const input: JsonObject = {};
  // An object without members would make an empty part of a path.
  const inPath = details.parameters.filter(({ place }) => place === "path");
  for (const [name, { schema, isOptional }] of toolArguments(details)) {
    if (isOptional && !all) continue;
    options.all = all || inPath.some(({ argument }) => argument === name);
    input[name] = sampleOf(schema, options);
  }
  return input;
}

/** Makes the request that a tool would make from its arguments. */
export function requestOf(details: Details, input: JsonObject): ApiRequest {
  const { parameters, body } = details;
  const request: JsonObject = {};
  for (const { name, place, argument, isJson, style, options } of parameters) {
    const value = input[argument];
    const own = isJson
      ? JSON.stringify(value)
      : styled(value, style ?? usualStyle(place), options);
    const values = (request[PLACES[place]] ??= {}) as JsonObject;
    values[name] = own;
  }
  if (body && input[BODY_NAME] !== undefined) {
    const value = input[BODY_NAME];
    const styles = body.kind === "form" ? stylesOf(body, details) : [];
    const members = styles.map(([name, { style, options }]) => [
      name,
      styled(Object(value)[name], style!, options),
    ]);
    request[body.kind] = isObject(value) && members.length > 0
      ? { ...value, ...Object.fromEntries(members) as ParameterValues }
      : value;
  }
  return request;
}

/** Finds the route of the request that a tool sends, for its test. */
function routeOf(operation: Operation, details: Details): string {
  let route = "";
  const request = requestOf(details, sampleInput(details));
  // The call sends its request before its first await, so the route is known at
  // once.
  callApi(
    {
      fetch(path) {
        const { pathname, search } = new URL(`https://a.test${path}`);
        route = `${operation.method} ${pathname}${search}`;
        return Promise.resolve(new Response("{}"));
      },
    },
    operation.id,
    request,
  ).catch(() => {});
  return route || operation.id;
}

function testCode(
  operation: Operation,
  details: Details,
  name: string,
  { variable, isPersonal, env, along }: UsedService,
  cast: string,
): string {
  const tool = camelCase(name, "tool");
  const input = sampleInput(details);
  const route = routeOf(operation, details);
  const answer = literal(details.answer);
  const isChecked = details.body?.kind === "json" && BODY_NAME in input;
  const answering = isChecked
    ? `async (request: Request) => {\n` +
      `assert.deepEqual(await request.json(), ${
        literal(input[BODY_NAME])
      });\n` +
      `return Response.json(answer);\n}`
    : "answer";
  // Keys in the address are the server's own, and not part of the call.
  const inQuery = along.some(({ place }) => place === "query");
  const shownRoute = inQuery ? route.replace(/\?.*$/, "") : route;
  const routes = `{ ${literal(shownRoute)}: ${answering} }`;
  const settings = env.map(([key, code]) => `${key}: ${code}`).join(", ");
  const isApproved = operation.method === "DELETE";
  const given = literal(input) + cast;
  const needed = isPersonal ? "" : "serveApi, ";
  const options = [
    ...isPersonal ? ["needs"] : [],
    ...isApproved ? ['approval: "approve"'] : [],
  ];
  const client = isApproved ? 'server.as({ subject: "ada" })' : "server";
  const more = options.length > 0 ? `, { ${options.join(", ")} }` : "";
  const called = tool + (more || given !== "{}" ? `, ${given}${more}` : "");
  const isTokened = env.some(([, code]) => code.includes("/token"));
  const token = '"POST /token": { access_token: "a-token", expires_in: 60 }';
  const served = isTokened ? `{ ${token}, ${routes.slice(2)}` : routes;
  return `import assert from "node:assert/strict";\n` +
    `import { ${needed}testServer } from "${PACKAGE}/testing";\n` +
    `import ${tool} from "./${name}.ts";\n\n` +
    `Deno.test(${literal(`${name} asks for ${operation.id}`)}, async () => ` +
    `{\nconst answer = ${answer};\n` +
    (isPersonal
      ? `const needs = { ${variable}: ${routes} };\n`
      : `await using api = serveApi(${served});\n`) +
    (settings ? `const env = { ${settings} };\n` : "") +
    `await using server = await testServer({ tools: [${tool}]` +
    `${settings ? ", env" : ""} });\n` +
    `const { text } = await ${client}.call(${called});\n` +
    `assert.deepEqual(JSON.parse(text), answer);\n});\n`;
}
