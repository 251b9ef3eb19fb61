/**
 * Results and lists as people read them.
 *
 * @module
 */
import type { Json } from "../client/mod.ts";
import { describe, propertiesOf, requiredOf } from "./schema.ts";

/** A file in a result. */
export interface FileContent {
  type: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The parts of a result. */
export interface Parts {
  texts: string[];
  files: FileContent[];
}

/** Takes the content of a tool's result or a prompt's messages apart. */
export function partsOf(blocks: unknown): Parts {
  const parts: Parts = { texts: [], files: [] };
  for (const block of listOf(blocks)) {
    if (typeof block.text === "string") parts.texts.push(block.text);
    else if (block.type === "resource") {
      const { texts, files } = partsOf([block.resource]);
      parts.texts.push(...texts);
      parts.files.push(...files);
    } else if (block.type === "resource_link") {
      parts.texts.push(
        `${block.title ?? block.name ?? ""} ${block.uri}`.trim(),
      );
    } else if (typeof (block.data ?? block.blob) === "string") {
      parts.files.push({
        type: `${block.mimeType ?? block.type ?? "file"}`,
        bytes: Uint8Array.fromBase64(`${block.data ?? block.blob}`),
      });
    } else parts.texts.push(JSON.stringify(block));
  }
  return parts;
}

/** Prints a tool with its arguments. */
export function toolText(tool: Json): string {
  const schema = (tool.inputSchema ?? {}) as Json;
  const properties = Object.entries(propertiesOf(schema));
  const required = requiredOf(schema);
  const rows = properties.map(([name, property]) => [
    `${name}=${describe(property, schema)}`,
    [
      required.includes(name) ? "" : "optional",
      property.default === undefined
        ? ""
        : `${JSON.stringify(property.default)} by default`,
      firstLine(property.description),
    ].filter(Boolean).join("; "),
  ]);
  return entryText(tool, rows);
}

export function promptText(prompt: Json): string {
  const rows = listOf(prompt.arguments).map((it) => [
    `${it.name}=string`,
    [it.required ? "" : "optional", firstLine(it.description)]
      .filter(Boolean).join("; "),
  ]);
  return entryText(prompt, rows);
}

export function resourceText(resource: Json): string {
  const name = `${resource.uri ?? resource.uriTemplate}`;
  return entryText({ ...resource, name }, []);
}

function entryText(
  { name, title, description }: Json,
  rows: readonly string[][],
): string {
  const words = firstLine(description) || firstLine(title);
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  const line = firstLine(`${name}`);
  return [
    words ? `${line}: ${words}` : line,
    ...rows.map(([left, right]) =>
      `    ${left.padEnd(right ? width : 0)}${right ? `  ${right}` : ""}`
    ),
  ].join("\n");
}

function firstLine(text: unknown): string {
  return typeof text === "string" ? text.trim().split(/\r?\n/)[0] : "";
}

/** The objects of a list; none if it is no list. */
export function listOf(value: unknown): Json[] {
  return Array.isArray(value)
    ? value.filter((it) => typeof it === "object" && it !== null)
    : [];
}
