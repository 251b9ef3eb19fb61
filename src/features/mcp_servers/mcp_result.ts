/**
 * Reduces another server's tool result to known types of content blocks with
 * known members, without `_meta`.
 *
 * @module
 */
import { type CallToolResult, ToolError } from "../../authoring/tool.ts";
import { isObject } from "../../core/json.ts";
import { MAY_HAVE_SUCCEEDED } from "../../core/provider/account_fetch.ts";
import type { GivenKeys } from "../../core/mcp/exchange/given_keys.ts";

type Block = CallToolResult["content"][number];

/** The maximum number of content blocks in a result. */
const MAX_BLOCKS = 1000;

/** The maximum length of an error's text, in characters. */
const MAX_ERROR_CHARACTERS = 10_000;

/** The members of each type of content block; `texts` must be strings. */
const KINDS: Readonly<
  Record<string, { texts: readonly string[]; more?: readonly string[] }>
> = {
  text: { texts: ["text"] },
  image: { texts: ["data", "mimeType"] },
  audio: { texts: ["data", "mimeType"] },
  resource_link: {
    texts: ["uri", "name"],
    more: ["title", "description", "mimeType", "size"],
  },
};

/**
 * Returns a text without control characters, cut to `most` characters. Keys are
 * hidden before the cut, because half a key would not be found.
 */
export function inPlainText(
  text: unknown,
  most: number,
  given: GivenKeys,
): string {
  const plain = (it: string) => it.replaceAll(/[^\P{C}\n]/gu, "");
  return given.hideStart(`${text ?? ""}`, most, plain);
}

/** Parses a result. @throws {ToolError} with the tool's text if it failed */
export function parseResult(
  result: Readonly<Record<string, unknown>>,
  title: string,
  given: GivenKeys,
): CallToolResult {
  const { content = [], structuredContent, isError } = result;
  const isKnown = Array.isArray(content) && content.length <= MAX_BLOCKS;
  if (
    !isKnown || structuredContent !== undefined && !isObject(structuredContent)
  ) {
    throw new ToolError(
      `${title} gave a result that is of no use. ${MAY_HAVE_SUCCEEDED}`,
    );
  }
  const blocks = content.flatMap((it) => parseBlock(it) ?? []);
  if (isError === true) {
    const words = blocks.map((it) => it.type === "text" ? it.text : "")
      .join("\n").trim();
    const said = inPlainText(words, MAX_ERROR_CHARACTERS, given);
    throw new ToolError(`${title}: ${said || "it failed"}`);
  }
  return {
    content: blocks,
    ...structuredContent !== undefined && { structuredContent },
  };
}

/** Copies the known members of a block. Undefined for an unknown type. */
function parseBlock(block: unknown): Block | undefined {
  if (!isObject(block)) return undefined;
  const { type, annotations } = block;
  const noted = isObject(annotations) && { annotations };
  if (type === "resource") {
    const resource = parseContents(block.resource);
    return resource && { type, resource, ...noted } as Block;
  }
  if (typeof type !== "string" || !Object.hasOwn(KINDS, type)) return undefined;
  const { texts, more = [] } = KINDS[type];
  if (!texts.every((name) => typeof block[name] === "string")) return undefined;
  return { type, ...taken(block, [...texts, ...more]), ...noted } as Block;
}

function parseContents(value: unknown) {
  if (!isObject(value) || typeof value.uri !== "string") return undefined;
  const name = typeof value.text === "string" ? "text" : "blob";
  return typeof value[name] === "string"
    ? taken(value, ["uri", "mimeType", name])
    : undefined;
}

function taken(
  object: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(
    names.filter((name) => object[name] !== undefined)
      .map((name) => [name, object[name]]),
  );
}
