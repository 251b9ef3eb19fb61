/**
 * Commands of a shell, as far as documents show them.
 *
 * @module
 */

/** A command: what it sets, its program, and its arguments. */
export interface Command {
  assignments: readonly string[];
  program?: string;
  args: readonly string[];
}

/** A word in quotes, the value of a command, or plain characters. */
const WORD =
  /"(?:\\.|[^"\\])*"|'[^']*'|\$\([^)]*\)|\\.|(?:[^\s"'&|;()\\$]|\$(?!\())+/sy;
const SPACE = /[^\S\n]+|\\\n/y;
const COMMENT = /#[^\n]*/y;
const END = /&&|\|\||[&|;()\n]/y;

/** Splits a script into its commands. */
export function parseShell(script: string): Command[] {
  const commands: Command[] = [];
  let words: string[] = [];
  let at = 0;
  /** True if the next piece belongs to the word before it. */
  let joins = false;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(script)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const end = () => {
    if (words.length > 0) commands.push(commandOf(words));
    words = [];
  };
  while (at < script.length) {
    if (take(SPACE) !== undefined) joins = false;
    else if (!joins && take(COMMENT) !== undefined) continue;
    else if (take(END) !== undefined) {
      end();
      joins = false;
    } else {
      const piece = take(WORD);
      if (piece === undefined) {
        throw new SyntaxError(`cannot be read: ${script.slice(at, at + 40)}`);
      }
      const text = /^["']/.test(piece) ? piece.slice(1, -1) : piece;
      if (joins) words.push(words.pop() + text);
      else words.push(text);
      joins = true;
    }
  }
  end();
  return commands;
}

function commandOf(words: readonly string[]): Command {
  const first = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  const count = first === -1 ? words.length : first;
  const [program, ...args] = words.slice(count);
  return { assignments: words.slice(0, count), program, args };
}
