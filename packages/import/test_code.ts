/**
 * The code of a tool's test. The test fails if the tool asks for something else:
 * by another method, path, parameter or body.
 *
 * @module
 */
import {
  type ApiRequest,
  callApi,
  type ParameterValues,
  styled,
} from "../../src/api.ts";
import { plain, usualStyle } from "../../src/authoring/parameter_style.ts";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { PACKAGE } from "../create/source.ts";
import { literal, toolVariable } from "./names.ts";
import type { Details, Operation } from "./operations.ts";
import { fits, fullSampleOf, sampleOf, type SampleOptions } from "./sample.ts";
import type { Components } from "./schema.ts";
import { TEST_KEY, type UsedService } from "./service_code.ts";
import {
  BODY_NAME,
  PLACES,
  stylesOf,
  type ToolArgument,
  toolArguments,
} from "./tool_code.ts";

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

/** The maximum length of the arguments of a test with optional ones, as JSON. */
const MAX_FULL_INPUT = 5000;

/**
 * Adds optional arguments and members to the arguments of a test, where a
 * sample surely matches its schema.
 *
 * @param first the names of members to add before others, as there may be many
 * @param isUsable false for arguments with which a call would fail
 */
export function fullInput(
  given: JsonObject,
  declared: ReadonlyMap<string, ToolArgument>,
  components: Components,
  first: readonly string[] = [],
  isUsable = (_input: JsonObject) => true,
): JsonObject {
  let input = given;
  let left = MAX_FULL_INPUT - JSON.stringify(given).length;
  for (const [name, { schema }] of declared) {
    if (left < 0) break;
    const value = fullSampleOf(schema, { components }, first);
    if (!fits(value, schema, { components })) continue;
    const length = JSON.stringify({ [name]: value }).length;
    const more = { ...input, [name]: value };
    if (length > left || !isUsable(more)) continue;
    left -= length;
    input = more;
  }
  return input;
}

/** Makes the request that a tool would make from its arguments. */
function requestOf(
  details: Details,
  input: JsonObject,
  { sent }: UsedService,
): ApiRequest {
  const { parameters, body } = details;
  const request: JsonObject = {};
  const valuesAt = (place: string) => (request[place] ??= {}) as JsonObject;
  for (const { name, place, argument, isJson, style, options } of parameters) {
    const value = input[argument];
    valuesAt(PLACES[place])[name] = isJson
      ? JSON.stringify(value)
      : styled(value, style ?? usualStyle(place), options);
  }
  for (const { place, name } of sent) valuesAt(place)[name] = TEST_KEY;
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
    request.contentType = body.type;
  }
  return request;
}

/** A request as a test sees it. */
interface SentRequest {
  /** The method, the path and the query. */
  route: string;
  headers: Headers;
  body?: BodyInit | null;
}

/** Returns the request that a call sends. Undefined if the call fails. */
function sentBy(id: string, request: ApiRequest): SentRequest | undefined {
  let sent: SentRequest | undefined;
  // The request is sent before the first await, so it is known at once.
  callApi(
    {
      fetch(path, { method, headers, body } = {}) {
        const { pathname, search } = new URL(`https://a.test${path}`);
        const route = `${method} ${pathname}${search}`;
        sent = { route, headers: new Headers(headers), body };
        return Promise.resolve(new Response("{}"));
      },
    },
    id,
    request,
  ).catch(() => {});
  return sent;
}

/** Generates the statements that compare a request with the expected one. */
function checksOf(
  { body }: Details,
  { headers, body: sent }: SentRequest,
  request: ApiRequest,
): string[] {
  const hasType = body?.type !== undefined && body.kind !== "multipart";
  const isTyped = sent !== undefined && (hasType || sent === "");
  const checked = [...headers]
    .filter(([name, value]) =>
      (name === "content-type" ? isTyped : name !== "accept") &&
      // Other letters may change on their way.
      /^[ -~]*$/.test(value)
    )
    .map(([name, value]) =>
      `assert.equal(request.headers.get(${literal(name)}), ${literal(value)});`
    );
  if (sent === undefined) return checked;
  const { json, multipart } = request;
  if (json !== undefined) {
    checked.push(`assert.deepEqual(await request.json(), ${literal(json)});`);
  } else if (multipart !== undefined) {
    checked.push(
      'assert.match(request.headers.get("content-type")!, /^multipart\\//);',
      `assert.deepEqual([...await request.formData()], ${
        literal(partsOf(multipart))
      });`,
    );
  } else {
    checked.push(`assert.equal(await request.text(), ${literal(sent)});`);
  }
  return checked;
}

/** Lists the parts that `callApi` makes of a body. */
const partsOf = (multipart: unknown) =>
  Object.entries(Object(multipart)).flatMap(([name, value]) =>
    [value].flat().filter((it) => it !== undefined && it !== null)
      .map((it) => [name, isObject(it) ? JSON.stringify(it) : plain(it)])
  );

/**
 * Generates the test of a tool.
 *
 * @param cast the code after the input, if TypeScript takes no such input
 */
export function testCode(
  operation: Operation,
  details: Details,
  name: string,
  service: UsedService,
  cast: string,
): string {
  const { variable, isPersonal, env } = service;
  const tool = toolVariable(name);
  const sentFor = (input: JsonObject) =>
    sentBy(operation.id, requestOf(details, input, service));
  const input = fullInput(
    sampleInput(details),
    toolArguments(details),
    details.schemas.components,
    [...details.body?.styles.keys() ?? []],
    (input) => sentFor(input) !== undefined,
  );
  const sent = sentFor(input);
  const route = sent?.route ?? operation.id;
  const isHead = operation.method === "HEAD";
  const answer = isHead ? "new Response()" : literal(details.answer);
  const [given, expected] = isHead
    ? ["answer", '"Done: 200, without a body."']
    : ["Response.json(answer)", "JSON.stringify(answer)"];
  const checks = sent
    ? checksOf(details, sent, requestOf(details, input, service))
    : [];
  const hasBody = sent?.body !== undefined;
  const answering = checks.length > 0
    ? `${hasBody ? "async " : ""}(request: Request) => {\n` +
      `${checks.join("\n")}\nreturn ${given};\n}`
    : "answer";
  const routes = `{ ${literal(route)}: ${answering} }`;
  const settings = env.map(([key, code]) => `${key}: ${code}`).join(", ");
  const isApproved = operation.method === "DELETE";
  const shown = literal(input) + cast;
  const needed = isPersonal ? "" : "serveApi, ";
  const options = [
    ...isPersonal ? ["needs"] : [],
    ...isApproved ? ['approval: "approve"'] : [],
  ];
  const client = isApproved ? 'server.as({ subject: "ada" })' : "server";
  const more = options.length > 0 ? `, { ${options.join(", ")} }` : "";
  const called = tool + (more || shown !== "{}" ? `, ${shown}${more}` : "");
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
    `assert.equal(text, ${expected});\n});\n`;
}
