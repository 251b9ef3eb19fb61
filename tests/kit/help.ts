/**
 * `--help` of the programs that tasks run.
 *
 * @module
 */

/**
 * Prints the first comment of the program that was started, and more, and ends
 * the process, if it was started with `--help`.
 */
export function answerHelp(more = ""): void {
  if (!["--help", "-h"].includes(Deno.args[0])) return;
  const text = Deno.readTextFileSync(new URL(Deno.mainModule));
  const [, comment] = /\/\*\*\n([^]*?)\n \*\//.exec(text)!;
  const words = comment.replaceAll(/^ \*(?: |$)/gm, "")
    .replace(/\n*@module/, "");
  console.log(`${words}${more}`);
  Deno.exit();
}
