/**
 * A tool's output together with text and data that accompany it.
 *
 * @module
 */
import type { ContentBlock } from "@modelcontextprotocol/server";
import * as kinds from "./options.ts";

/** The text and data that accompany a tool's output. */
export interface ResultExtra {
  /** The text or blocks for the model; by default the output as JSON. */
  content?: string | ContentBlock | ContentBlock[];
  /** The data that only the tool's view reads. */
  meta?: Record<string, unknown>;
}

/** A tool's output with text and data, made by {@linkcode result}. */
export class ResultWith<T = unknown> {
  /** Made by {@linkcode result}. */
  constructor(
    /** The output, not yet checked. */
    readonly data: T,
    /** The text and data that accompany the output. */
    readonly extra: ResultExtra,
  ) {}
}

/**
 * Makes a tool's output with text and data that accompany it. A tool with an
 * `output` may return it in place of the output alone.
 *
 * @example
 * ```ts
 * import { result, tool, z } from "@tool-server/tool-server";
 *
 * const sales = tool({
 *   name: "sales",
 *   output: z.object({ total: z.number() }),
 *   run: () =>
 *     result({ total: 41 }, {
 *       content: "41 were sold, most of them on Tuesday.",
 *       meta: { perHour: [3, 1, 37] },
 *     }),
 * });
 * ```
 */
export function result<T>(data: T, extra: ResultExtra): ResultWith<T> {
  kinds.checkOptions("result", RESULT_EXTRA, extra);
  return new ResultWith(data, extra);
}

/** The options of {@linkcode result}. */
export const RESULT_EXTRA = {
  content: kinds.like(
    "text, a content block or a list of them",
    (it) => typeof it === "string" || typeof it === "object" && it !== null,
  ),
  meta: kinds.JSON_OBJECT,
} satisfies kinds.Members<ResultExtra>;
