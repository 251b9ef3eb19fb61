/**
 * All mutants of a source file in it at once, each behind a switch, so that
 * the file is loaded once and not once for each of them.
 *
 * @module
 */
import ts from "typescript";
import { type Mutant, parsed } from "./mutants.ts";
import { SWITCH } from "./order.ts";

/** A mutant under the number by which it is switched on. */
export interface Numbered extends Mutant {
  id: number;
}

/**
 * It tells the process of tests that the mutant was reached. Other processes
 * that load the file have no such function, and nothing is switched on there.
 */
const ASKED =
  `function ${SWITCH}(id) { return globalThis.${SWITCH}?.(id) ?? false; }`;

/**
 * The source with switches for all mutants that can have one.
 *
 * @param switched told of each mutant that got a switch
 */
export function withSwitches(
  path: string,
  source: string,
  mutants: readonly Numbered[],
  switched: (mutant: Numbered) => void,
): string {
  const file = parsed(path, source);
  const waiting = Map.groupBy(mutants, ({ start, end }) => `${start}-${end}`);

  function printed(node: ts.Node): string {
    const start = node.getStart(file);
    const place = `${start}-${node.end}`;
    const here = waiting.get(place) ?? [];
    const isHere = here.length > 0 && canSwitch(node);
    // The outermost node of a place takes its mutants.
    if (isHere) waiting.delete(place);
    let text = "";
    let at = start;
    ts.forEachChild(node, (child) => {
      const from = child.getStart(file);
      text += source.slice(at, from) + printed(child);
      at = child.end;
    });
    text += source.slice(at, node.end);
    if (!isHere) return text;
    for (const mutant of here) switched(mutant);
    return ts.isStatement(node)
      ? withoutStatement(text, here)
      : withAlternatives(text, here);
  }

  const end = source.length;
  return `${source.slice(0, file.getStart(file))}${printed(file)}${
    source.slice(file.end, end)
  }\n${ASKED}\n`;
}

/** In a block of its own, so that no `else` becomes its own. */
function withoutStatement(text: string, mutants: readonly Numbered[]): string {
  const [{ id }] = mutants;
  return `{if(!${SWITCH}(${id})){${text}}}`;
}

function withAlternatives(text: string, mutants: readonly Numbered[]): string {
  const choices = mutants.map(({ id, replacement }) =>
    `${SWITCH}(${id})?(${replacement}):`
  );
  return `(${choices.join("")}(${text}))`;
}

function canSwitch(node: ts.Node): boolean {
  if (ts.isStatement(node)) return !isSuperCall(node);
  return ts.isExpression(node) && !isLink(node) && !isTarget(node);
}

/** What sets the members of a constructor's parameters follows it directly. */
function isSuperCall(node: ts.Node): boolean {
  return ts.isExpressionStatement(node) &&
    ts.isCallExpression(node.expression) &&
    node.expression.expression.kind === ts.SyntaxKind.SuperKeyword;
}

/** Inside `a?.b.c`, what is in parentheses would end the chain. */
function isLink(node: ts.Expression): boolean {
  const { parent } = node;
  return ts.isOptionalChain(node) &&
    (ts.isOptionalChain(parent) && parent.expression === node ||
      ts.isNonNullExpression(parent));
}

/** `[a, b] = …` */
function isTarget(node: ts.Expression): boolean {
  const { parent } = node;
  return ts.isBinaryExpression(parent) && parent.left === node &&
    parent.operatorToken.kind === ts.SyntaxKind.EqualsToken;
}
