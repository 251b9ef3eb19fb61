/**
 * The estimated tokens that a list of tools costs in each conversation. Each
 * model counts differently.
 *
 * @module
 */

/**
 * Estimates the number of tokens in a text. A word of up to eleven letters is
 * one token, a longer one two or more. Three digits are one token, and so are
 * four punctuation characters in a row, as in JSON.
 * `tests/imports/documents_suite.ts` compares the estimate with the count of
 * GPT-4o.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (
    const [part] of text.matchAll(
      /[A-Z]?[a-z]+|[A-Z]+|\d+|[^\sA-Za-z\d]+|\s{2,}/g,
    )
  ) {
    const first = part.charCodeAt(0);
    if (first > 127) tokens += Math.ceil(part.length / 1.5);
    else if (/\d/.test(part)) tokens += Math.ceil(part.length / 3);
    else if (/[A-Za-z]/.test(part)) tokens += Math.ceil(part.length / 11);
    else tokens += Math.ceil(part.length / 4);
  }
  return tokens;
}

/** The members of a listed tool that cost tokens. */
interface CostlyTool {
  readonly name?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
}

/**
 * Estimates the tokens of the parts of a tool that clients pass to their model.
 */
export function tokensOfTool(tool: CostlyTool): number {
  const { name, description, inputSchema } = tool;
  return estimateTokens(
    JSON.stringify({ name, description, input_schema: inputSchema }),
  );
}

/** Describes the cost of a list of tools, and its most expensive tool. */
export function costWords(tools: readonly CostlyTool[]): string {
  const costs = tools.map((tool) => ({
    name: `${tool.name}`,
    tokens: tokensOfTool(tool),
  })).sort((a, b) => b.tokens - a.tokens);
  const sum = costs.reduce((all, { tokens }) => all + tokens, 0);
  const [dearest] = costs;
  return dearest === undefined
    ? "your list is empty"
    : `your list costs about ${printCount(sum)} tokens, ${dearest.name} ` +
      `${printCount(dearest.tokens)} of them`;
}

/** Formats a count with its noun: `1 tool`, `3,120 tools`. */
export const countText = (count: number, word: string) =>
  `${printCount(count)} ${word}${count === 1 ? "" : "s"}`;

/** Formats 3120 as `3,120`. */
export function printCount(count: number): string {
  return `${count}`.replaceAll(/\B(?=(\d{3})+$)/g, ",");
}
