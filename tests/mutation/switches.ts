/**
 * All mutants of a source file at once, each behind a switch, so that the file
 * is loaded only once.
 *
 * @module
 */
import ts from "typescript";
import { type Mutant, parsed } from "./mutants.ts";
import { SWITCH } from "./test_process.ts";

/** A mutant with the number of its switch. */
export interface Numbered extends Mutant {
  id: number;
}

/**
 * The source of the switch. It reports to the test process that the mutant was
 * reached. Other processes that load the file have no such function, so nothing
 * is switched on there.
 */
const ASKED =
  `function ${SWITCH}(id) { return globalThis.${SWITCH}?.(id) ?? false; }`;

/**
 * Adds switches to the source for all mutants that can have one.
 *
 * @param switched called with each mutant that got a switch
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

/** Puts a statement into a block, so that no following `else` belongs to it. */
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

/** True for a call of super, which may not stand in a block. */
function isSuperCall(node: ts.Node): boolean {
  return ts.isExpressionStatement(node) &&
    ts.isCallExpression(node.expression) &&
    node.expression.expression.kind === ts.SyntaxKind.SuperKeyword;
}

/** True inside `a?.b.c`, where parentheses would end the chain. */
function isLink(node: ts.Expression): boolean {
  const { parent } = node;
  return ts.isOptionalChain(node) &&
    (ts.isOptionalChain(parent) && parent.expression === node ||
      ts.isNonNullExpression(parent));
}

/** True for the target of `[a, b] = …`. */
function isTarget(node: ts.Expression): boolean {
  const { parent } = node;
  return ts.isBinaryExpression(parent) && parent.left === node &&
    parent.operatorToken.kind === ts.SyntaxKind.EqualsToken;
}
