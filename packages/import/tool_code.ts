/**
 * The code of an operation's tool.
 *
 * @module
 */
import { PACKAGE } from "../create/source.ts";
import { shortLine } from "./document.ts";
import { camelCase, literal, memberName, objectCode } from "./names.ts";
import { INHERITED_NAMES } from "../../src/core/protocol/json_schema.ts";
import type { Body, Details, Operation, Parameter } from "./operations.ts";
import { usualStyle } from "../../src/authoring/parameter_style.ts";
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

/** The code of a tool. */
export interface ToolCode extends Omit<ToolFiles, "test"> {
  /** The code after its input in a test, if TypeScript takes no such input. */
  cast: string;
}

export function toolCode(
  operation: Operation,
  details: Details,
  name: string,
  file: string,
  service: UsedService,
): ToolCode {
  const { variable } = service;
  const isApproved = operation.method === "DELETE";
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
      (isApproved ? APPROVAL_CODE : "") +
      `annotations: {\nreadOnlyHint: ${isSafe},\n` +
      `destructiveHint: ${!isSafe},\n` +
      `idempotentHint: ${isIdempotent},\nopenWorldHint: true,\n},\n` +
      `run: (${taken}, { ${context.join(", ")} }) =>\n` +
      `callApi(${given}.${variable}, ${literal(operation.id)}, ` +
      `${request}),\n});\n`,
    isApproved,
    notes,
    cast,
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
export const PLACES = {
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
export function stylesOf({ styles, schema }: Body, { schemas }: Details) {
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
