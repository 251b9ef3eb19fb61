/**
 * The tools that an import wrote in a project of a test.
 *
 * @module
 */
import { parseImported } from "../../packages/import/imported_file.ts";
import type { Tool } from "../../src/mod.ts";
import { REPOSITORY } from "./process.ts";

/** A tool, and what it was made of. */
export interface ImportedTool {
  service: string;
  /** The operation, or the tool of another MCP server. */
  id: string;
  tool: Tool;
}

/** Loads the tools of a project, which get the package of this repository. */
export async function importedTools(root: string): Promise<ImportedTool[]> {
  const configuration = new URL("deno.json", REPOSITORY);
  const { exports } = JSON.parse(await Deno.readTextFile(configuration));
  const paths: string[] = [];
  for (const folder of ["services", "tools"]) {
    for await (const { name } of Deno.readDir(`${root}/${folder}`)) {
      const path = `${root}/${folder}/${name}`;
      const text = await Deno.readTextFile(path);
      const whole = text.replaceAll(
        /"@tool-server\/tool-server(\/\w+)?"/g,
        (_, entry = "") =>
          `"${new URL(exports[`.${entry}`], REPOSITORY).href}"`,
      );
      await Deno.writeTextFile(path, whole);
      if (folder === "tools" && !/^mod\.|_test\./.test(name)) paths.push(path);
    }
  }
  return await Promise.all(
    paths.sort().map(async (path) => {
      const { service, id } = parseImported(
        path,
        await Deno.readTextFile(path),
      )!;
      return { service, id, tool: (await import(`file://${path}`)).default };
    }),
  );
}
