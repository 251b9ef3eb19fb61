/**
 * The ways to break a rule: a refusal dropped, a comparison moved by one, a
 * member removed from a list.
 *
 * @module
 */
import ts from "typescript";

/** Receives a mutant: its kind, and the replacement of a node. */
export type Report = (kind: string, node: ts.Node, replacement: string) => void;

/** Chained calls that narrow the accepted or committed values. */
const NARROWING = new Set([
  "check",
  "int",
  "max",
  "min",
  "nonnegative",
  "optional",
  "refine",
  "regex",
  "strict",
  "toLowerCase",
  "trim",
]);

const MOVED: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [ts.SyntaxKind.LessThanToken, "<="],
  [ts.SyntaxKind.LessThanEqualsToken, "<"],
  [ts.SyntaxKind.GreaterThanToken, ">="],
  [ts.SyntaxKind.GreaterThanEqualsToken, ">"],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, "!=="],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, "==="],
]);

export function breakStatement(node: ts.Node, report: Report): void {
  if (ts.isIfStatement(node)) {
    report("condition is never true", node.expression, "false");
    report("condition is always true", node.expression, "true");
  } else if (ts.isThrowStatement(node) && !ts.isIfStatement(node.parent)) {
    report("not thrown", node, ";");
  } else if (
    ts.isExpressionStatement(node) &&
    ts.isCallExpression(unawaited(node.expression))
  ) {
    report("not called", node, ";");
  }
}

export function breakExpression(
  node: ts.Node,
  report: Report,
  file: ts.SourceFile,
): void {
  if (ts.isConditionalExpression(node)) {
    report("choice is always the first", node.condition, "true");
    report("choice is always the second", node.condition, "false");
  } else if (ts.isBinaryExpression(node)) {
    breakBinary(node, report, file);
  } else if (
    ts.isPrefixUnaryExpression(node) &&
    node.operator === ts.SyntaxKind.ExclamationToken
  ) {
    report("not negated", node, node.operand.getText(file));
  } else if (ts.isCallExpression(node)) {
    breakChain(node, report, file);
  } else if (ts.isArrayLiteralExpression(node)) {
    breakList(node, report, file);
  } else if (node.kind === ts.SyntaxKind.TrueKeyword) {
    report("true is false", node, "false");
  } else if (node.kind === ts.SyntaxKind.FalseKeyword) {
    report("false is true", node, "true");
  } else if (ts.isRegularExpressionLiteral(node)) {
    breakPattern(node, report, file);
  } else if (
    ts.isNumericLiteral(node) && node.text !== "0" && isConstant(node)
  ) {
    report("ten times as much", node, `${node.getText(file)} * 10`);
  }
}

function breakBinary(
  node: ts.BinaryExpression,
  report: Report,
  file: ts.SourceFile,
): void {
  const { left, right, operatorToken: { kind } } = node;
  const moved = MOVED.get(kind);
  if (moved !== undefined) {
    const sides = [left.getText(file), moved, right.getText(file)];
    report(`${moved} instead`, node, sides.join(" "));
  }
  const isChoice = kind === ts.SyntaxKind.AmpersandAmpersandToken ||
    kind === ts.SyntaxKind.BarBarToken;
  if (!isChoice || isRest(node)) return;
  report("right side alone", node, `(${right.getText(file)})`);
  report("left side alone", node, `(${left.getText(file)})`);
}

/** True for `...condition && { member }`: alone, it is always there. */
function isRest(node: ts.Node): boolean {
  const parent = ts.isParenthesizedExpression(node.parent)
    ? node.parent.parent
    : node.parent;
  return ts.isSpreadAssignment(parent) || ts.isSpreadElement(parent);
}

function breakChain(
  node: ts.CallExpression,
  report: Report,
  file: ts.SourceFile,
): void {
  const { expression } = node;
  if (
    ts.isPropertyAccessExpression(expression) &&
    NARROWING.has(expression.name.text)
  ) {
    report(
      `without .${expression.name.text}()`,
      node,
      expression.expression.getText(file),
    );
  }
}

/** Removes the names of a list one by one. */
function breakList(
  node: ts.ArrayLiteralExpression,
  report: Report,
  file: ts.SourceFile,
): void {
  const { elements } = node;
  const isList = elements.length > 1 &&
    elements.every((element) =>
      ts.isStringLiteral(element) || ts.isIdentifier(element) ||
      ts.isTemplateExpression(element)
    );
  if (!isList || ts.isArrayLiteralExpression(node.parent)) return;
  for (const element of elements) {
    report(
      `without ${element.getText(file)}`,
      node,
      `[${
        elements.filter((other) => other !== element)
          .map((other) => other.getText(file)).join(", ")
      }]`,
    );
  }
}

/** Removes the ends of a pattern, so that it matches longer texts too. */
function breakPattern(
  node: ts.RegularExpressionLiteral,
  report: Report,
  file: ts.SourceFile,
): void {
  const text = node.getText(file);
  if (text.startsWith("/^")) report("without ^", node, `/${text.slice(2)}`);
  const end = text.lastIndexOf("/");
  if (text[end - 1] === "$" && text[end - 2] !== "\\") {
    report("without $", node, text.slice(0, end - 1) + text.slice(end));
  }
}

/** True for a number with a name in capitals, or that a check gets. */
function isConstant(node: ts.NumericLiteral): boolean {
  let parent: ts.Node = node.parent;
  if (ts.isCallExpression(parent)) {
    const { expression } = parent;
    return ts.isPropertyAccessExpression(expression) &&
      NARROWING.has(expression.name.text);
  }
  while (ts.isBinaryExpression(parent)) parent = parent.parent;
  return ts.isVariableDeclaration(parent) &&
    /^[A-Z_\d]+$/.test(parent.name.getText());
}

function unawaited(node: ts.Expression): ts.Expression {
  return ts.isAwaitExpression(node) ? node.expression : node;
}
