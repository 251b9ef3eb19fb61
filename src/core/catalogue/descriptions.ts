/**
 * The list entries of tools, resources and prompts for clients; and the items
 * that need a scope, described for people.
 *
 * @module
 * @see MCP 2026-07-28, Server Features
 */
import type { CommonDefinition } from "../../authoring/context.ts";
import type { Prompt } from "../../authoring/prompt.ts";
import type { Resource } from "../../authoring/resource.ts";
import type { Tool } from "../../authoring/tool.ts";
import { checkObjectSchema, toJsonSchema } from "../protocol/json_schema.ts";
import type { JsonObject } from "../json.ts";

/** A tool's entry in `tools/list`. */
export type ListedTool = JsonObject & {
  name: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
};

/**
 * Makes a tool's entry in `tools/list`. Some clients read `properties` of every
 * input schema, so it is never absent.
 *
 * @throws {Error} for a schema that JSON Schema cannot express
 */
export function toolEntry(tool: Tool): ListedTool {
  const { input, output, annotations } = tool;
  const inputSchema: JsonObject = input
    ? toJsonSchema(input, "input")
    : { type: "object", additionalProperties: false };
  checkObjectSchema(inputSchema, "input");
  const outputSchema = output && toJsonSchema(output, "output");
  if (outputSchema?.type === "object") {
    checkObjectSchema(outputSchema, "output");
  }
  return {
    ...describe(tool),
    inputSchema: { ...inputSchema, properties: inputSchema.properties ?? {} },
    ...(outputSchema && { outputSchema }),
    ...(annotations && { annotations }),
  };
}

/**
 * Tells ChatGPT who may call a tool: signed-in people, or anyone. If ChatGPT
 * has a token, it always sends it. The author's own `_meta` takes precedence.
 *
 * @see https://developers.openai.com/apps-sdk/build/auth
 */
export function withSecuritySchemes(
  { _meta, ...listed }: ListedTool,
  scopes: readonly string[] = [],
): ListedTool {
  const securitySchemes = scopes.length === 0
    ? [{ type: "noauth" }, { type: "oauth2" }]
    : [{ type: "oauth2", scopes }];
  // In `_meta`, too, because some clients read only that.
  return {
    ...listed,
    securitySchemes,
    _meta: { securitySchemes, ...(_meta as JsonObject) },
  };
}

/**
 * Removes an output schema that is not an object's, because MCP 2025 clients
 * refuse it.
 */
export function withObjectOutput(listed: JsonObject): JsonObject {
  const schema = listed.outputSchema as JsonObject | undefined;
  if (schema?.type === "object") return listed;

  const { outputSchema: _, ...rest } = listed;
  return rest;
}

export function promptEntry(prompt: Prompt): JsonObject {
  const { properties = {}, required = [] } = prompt.args
    ? toJsonSchema(prompt.args, "input")
    : {};
  const args = Object.entries(properties as Record<string, JsonObject>);
  return {
    ...describe(prompt),
    ...(args.length > 0 && {
      arguments: args.map(([name, { title, description }]) => ({
        name,
        ...textsOf(name, { title, description }),
        required: (required as string[]).includes(name),
      })),
    }),
  };
}

/** @throws {Error} for a value that is neither a string nor undefined */
function textsOf(argument: string, words: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(words)) {
    if (value === undefined || typeof value === "string") continue;
    throw new Error(`the ${name} of its argument ${argument} must be text`);
  }
  return words;
}

export function resourceEntry(resource: Resource): JsonObject {
  const { uri, mimeType, annotations, size } = resource;
  return { uri, ...describe(resource), mimeType, annotations, size };
}

/** Makes the entry of a resource template in `resources/templates/list`. */
export function templateEntry(resource: Resource): JsonObject {
  const { uri, size: _, ...rest } = resourceEntry(resource);
  return { uriTemplate: uri, ...rest };
}

function describe(
  { name, title, description, icons, _meta }: CommonDefinition,
): JsonObject & { name: string } {
  return { name, title, description, icons, _meta };
}

/** A tool, resource or prompt that needs a scope, described for people. */
export interface ScopeUse {
  title: string;
  words: string;
  scopes: readonly string[];
}

export function collectScopes(
  items: readonly CommonDefinition[],
): ReadonlyMap<string, readonly ScopeUse[]> {
  const scopes = new Map<string, ScopeUse[]>();
  for (
    const { scopes: needed = [], name, title = name, description } of items
  ) {
    for (const scope of needed) {
      const uses = scopes.get(scope) ?? [];
      uses.push({ title, words: description ?? title, scopes: needed });
      scopes.set(scope, uses);
    }
  }
  return scopes;
}
