/**
 * Every way to break one rule of a source file.
 *
 * @module
 */
import ts from "typescript";
import { breakExpression, breakStatement, type Report } from "./breaks.ts";

/** One small change to a source file. */
export interface Mutant {
  /** The path from the root of the project. */
  path: string;
  /** The line of its first character, from 1. */
  line: number;
  /** The kind of change, such as `condition is never true`. */
  kind: string;
  /** Offsets into the source; the text between them is replaced. */
  start: number;
  end: number;
  replacement: string;
  /** The original text, on one line. */
  original: string;
  /**
   * A name that stays the same while other lines come and go: path, kind,
   * original text, and a number if the same is in the file before.
   */
  name: string;
}

/** Calls whose texts are for people, and not rules. */
const WORDS = /^(?:this\.)?(?:#?log|console)\b/;

export function parsed(path: string, source: string): ts.SourceFile {
  return ts.createSourceFile(
    path,
    source,
    ts.ScriptTarget.Latest,
    true,
    path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
}

/** Lists the mutants of a source file, in the order of their places. */
export function mutantsOf(path: string, source: string): Mutant[] {
  const file = parsed(path, source);
  const found: Mutant[] = [];
  const names = new Map<string, number>();
  const report: Report = (kind, node, replacement) => {
    const start = node.getStart(file);
    const { line } = file.getLineAndCharacterOfPosition(start);
    const text = source.slice(start, node.end);
    if (text === replacement) return;
    const original = text.replaceAll(/\s+/g, " ");
    const name = `${path}: ${kind}: ${original}`;
    const count = (names.get(name) ?? 0) + 1;
    names.set(name, count);
    found.push({
      path,
      line: line + 1,
      kind,
      start,
      end: node.end,
      replacement,
      original,
      name: count === 1 ? name : `${name} #${count}`,
    });
  };

  function visit(node: ts.Node): void {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
    if (ts.isExpressionStatement(node) && WORDS.test(node.getText(file))) {
      return;
    }
    breakStatement(node, report);
    breakExpression(node, report, file);
    ts.forEachChild(node, visit);
  }

  visit(file);
  return found.sort((a, b) => a.start - b.start);
}

export function applyMutant(
  source: string,
  { start, end, replacement }: Mutant,
): string {
  return source.slice(0, start) + replacement + source.slice(end);
}
