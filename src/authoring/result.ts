/**
 * A tool's output with what goes with it.
 *
 * @module
 */
import type { ContentBlock } from "@modelcontextprotocol/server";

/** What goes with a tool's output. */
export interface ResultExtra {
  /** What the model reads; by default the output as JSON. */
  content?: string | ContentBlock | ContentBlock[];
  /** What only the tool's view reads. */
  meta?: Record<string, unknown>;
}

/** A tool's output, and what goes with it. Made by {@linkcode result}. */
export class ResultWith<T = unknown> {
  /** Made by {@linkcode result}. */
  constructor(
    /** The output, not yet checked. */
    readonly data: T,
    /** What goes with it. */
    readonly extra: ResultExtra,
  ) {}
}

/**
 * What a tool with an `output` may return in place of its output alone.
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
  return new ResultWith(data, extra);
}
