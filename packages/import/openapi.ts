/**
 * OpenAPI documents as a source of tools.
 *
 * @module
 */
import type { JsonObject } from "../../src/core/json.ts";
import { tokensOfTool } from "../doctor/list_cost.ts";
import {
  type ApiDocument,
  attempt,
  ImportError,
  reading,
  shortLine,
} from "./document.ts";
import { snakeCase } from "./names.ts";
import {
  type Details,
  detailsOf,
  listOperations,
  type Operation,
} from "./operations.ts";
import { ReservedParameters } from "./reserved_parameters.ts";
import { safePattern } from "./sample.ts";
import type { Components, PlainSchema } from "./schema.ts";
import { checkWrittenOut } from "./written_out.ts";
import { securityOf } from "./security.ts";
import { apiAddressOf } from "./servers.ts";
import { serviceCode } from "./service_code.ts";
import {
  guarded,
  type ImportItem,
  type ImportSource,
  titleFor,
} from "./source.ts";
import { testCode } from "./test_code.ts";
import { BODY_NAME, toolArguments, toolCode } from "./tool_code.ts";
import { descriptionOf, schemaOfFormat } from "./zod_code.ts";

export interface ApiItem extends ImportItem {
  operation: Operation;
}

/** @throws {ImportError} for a document that is of no use */
export function openApiSource(document: ApiDocument): ImportSource<ApiItem> {
  return guarded(reading(() => sourceOf(document)));
}

function sourceOf(document: ApiDocument): ImportSource<ApiItem> {
  const { root } = document;
  const info = Object(root.info);
  const title = shortLine(info.title ?? "API", 60);
  const { operations, left } = listOperations(document);
  const reserved = new ReservedParameters(document);
  const details = (operation: Operation, variable: string) =>
    detailsOf(document, operation, new Set([BODY_NAME, variable]), reserved);
  const items = operations.map((operation) => {
    let known: number | undefined;
    return {
      ...operation,
      aliases: operation.operationId ? [operation.operationId] : [],
      tokens: () => known ??= tokensOf(operation, details(operation, "")),
      operation,
    };
  });
  const address = attempt(() => apiAddressOf(document, root.servers))?.api;
  return {
    title: `${title} ${shortLine(info.version ?? "", 20)}`.trim(),
    name: nameOf(title),
    ...address !== undefined && { address },
    items,
    left,
    write(names, picked) {
      const chosen = picked.map(({ operation }) => operation);
      const address = apiAddressOf(document, root.servers, names.url);
      const security = securityOf(document, chosen);
      const shown = titleFor(title, names);
      const service = serviceCode(names, shown, security, address);
      return {
        service: service.text,
        notes: service.notes,
        isPersonal: service.isPersonal,
        tool({ operation }, name) {
          const other = security.others.get(operation);
          if (other !== undefined) throw new ImportError(other);
          checkServer(document, operation, address.api);
          const used = security.open.has(operation) && service.open || service;
          const own = details(operation, used.variable);
          const { cast, ...made } = toolCode(
            operation,
            own,
            name,
            names.name,
            used,
          );
          return { ...made, test: testCode(operation, own, name, used, cast) };
        },
      };
    },
  };
}

/** Makes a name from a title. Omits words that every title has. */
function nameOf(title: string): string {
  const usual =
    /(?<=^|_)(?:the|apis?|openapi|swagger|v\d+|rest|http|spec|specification)(?=_|$)/g;
  const name = snakeCase(title, 40).replaceAll(usual, "");
  return name.split("_").filter(Boolean).join("_") || "api";
}

/** @throws {ImportError} if the operation is at another server */
function checkServer(
  document: ApiDocument,
  { raw, item }: Operation,
  api: string,
): void {
  const servers = raw.servers ?? item.servers;
  if (!Array.isArray(servers) || servers.length === 0) return;
  const there = { ...document, address: document.address ?? new URL(api) };
  const own = apiAddressOf(there, servers);
  const rest = attempt(() => apiAddressOf(there, document.root.servers));
  if (own.api === api || own.api === rest?.api) return;
  throw new ImportError(
    `It is at another server: import it --as another service, with --url ${
      shortLine(own.api)
    }.`,
  );
}

/** Estimates the tokens of a tool, from the JSON Schema that Zod will print. */
function tokensOf(operation: Operation, details: Details): number {
  const { components } = details.schemas;
  const members = [...toolArguments(details)];
  checkWrittenOut(members.map(([, { schema }]) => schema), components);
  const written = new Map<string, JsonObject>();
  const properties = members.map(([name, { schema }]) => [
    name,
    schemaJson(schema, components, written),
  ]);
  const needed = members.filter(([, { isOptional }]) => !isOptional)
    .map(([name]) => name);
  return tokensOfTool({
    name: operation.name,
    description: operation.description,
    inputSchema: {
      ...members.length > 0
        ? { $schema: "https://json-schema.org/draft/2020-12/schema" }
        : { additionalProperties: false },
      type: "object",
      properties: Object.fromEntries(properties),
      ...needed.length > 0 && { required: needed },
    },
  });
}

/**
 * Makes a JSON Schema about as long as the one that Zod will make. Components
 * are made in the order of {@linkcode checkWrittenOut}, so that the text is not
 * longer than that function allows.
 */
function schemaJson(
  schema: PlainSchema,
  components: Components,
  written: Map<string, JsonObject>,
): JsonObject {
  const { ref, values, type, union, all, items, others } = schema;
  const words = { description: descriptionOf(schema) };
  if (ref !== undefined) {
    if (!written.has(ref)) {
      written.set(ref, { $ref: "#/$defs/__schema0" });
      const target = components.get(ref) ?? {};
      written.set(ref, schemaJson(target, components, written));
    }
    return { ...written.get(ref), ...words.description && words };
  }
  const inside = (part: PlainSchema) => schemaJson(part, components, written);
  const own: JsonObject = { ...words };
  if (values !== undefined) own.enum = values;
  if (type !== undefined) own.type = type;
  if (type === "string") Object.assign(own, schemaOfFormat(schema.format));
  if (safePattern(schema.pattern)) own.pattern = schema.pattern;
  if (items !== undefined) own.items = inside(items);
  if (type === "integer") own.minimum = Number.MIN_SAFE_INTEGER;
  if (type === "integer") own.maximum = Number.MAX_SAFE_INTEGER;
  if (schema.properties !== undefined && schema.properties.size > 0) {
    own.properties = Object.fromEntries(
      [...schema.properties].map(([name, part]) => [name, inside(part)]),
    );
    if (schema.required?.size) own.required = [...schema.required];
  }
  if (others !== undefined) {
    own.additionalProperties = others === true ? {} : inside(others);
  }
  if (union !== undefined) own.anyOf = union.map(inside);
  if (all !== undefined) own.allOf = all.map(inside);
  return own;
}
