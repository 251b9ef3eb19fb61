/**
 * The copy of the package that makes a project, and that the project then uses:
 * that of the registry, a clone on this machine, or the sources at an address.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { VERSION } from "../../src/core/version.ts";

/** The name under which projects import this package. */
export const PACKAGE = "@tool-server/tool-server";

/** A copy of the package, as a project finds it. */
export interface Source {
  /** The members of the project's `deno.json` that point to the copy. */
  configuration: Record<string, unknown>;
  /** Its module, for `deno doc`. */
  module: string;
  /** A host that is no registry: Deno imports from it only with a flag. */
  host?: string;
  /** Folders of the copy that a program may have to read while it runs. */
  read?: readonly string[];
  /**
   * The place of the copy, in words for readers of the project. Undefined for
   * the published package.
   */
  place?: string;
}

const IMPORTS = { [PACKAGE]: `jsr:${PACKAGE}@${VERSION}` };

/** The published package. */
export const PUBLISHED: Source = {
  configuration: { imports: IMPORTS },
  module: `jsr:${PACKAGE}`,
};

/** The parts of our own `deno.json` that point to our modules. */
interface OwnConfiguration {
  exports: Record<string, string>;
  imports: Record<string, string>;
  compilerOptions: Record<string, string>;
}

/** Finds the copy that this module is a part of, for a project in `project`. */
export async function findSource(project: string): Promise<Source> {
  const root = new URL("../..", import.meta.url);
  if (root.protocol === "file:") {
    return cloneSource(relativePath(project, fileURLToPath(root)));
  }
  if (root.pathname.endsWith(`/${PACKAGE}/${VERSION}/`)) return PUBLISHED;
  const response = await fetch(new URL("deno.json", root));
  return addressSource(root, await response.json());
}

/** Makes the source of a project that uses a clone at a path. */
export function cloneSource(path: string): Source {
  return {
    configuration: { imports: IMPORTS, links: [path] },
    module: `${path}/src/mod.ts`,
    read: [`${path}/packages/postgres`],
    place: `the clone at \`${path}\`: \`links\` in \`deno.json\` says so. ` +
      "Other machines, images and workflows do not have it",
  };
}

/**
 * Makes the source of a project that uses the modules at an address. They
 * import by names that only our own configuration explains.
 */
export function addressSource(root: URL, own: OwnConfiguration): Source {
  const imports = Object.entries(own.exports).map(([entry, path]) => [
    PACKAGE + entry.slice(1),
    new URL(path, root).href,
  ]);
  return {
    configuration: {
      imports: Object.fromEntries(imports),
      scopes: { [root.href]: own.imports },
      compilerOptions: own.compilerOptions,
    },
    module: new URL("src/mod.ts", root).href,
    host: root.host,
    place: `the sources at <${root}>: \`imports\` and \`scopes\` in ` +
      "`deno.json` say so",
  };
}

/** Returns the path from one folder to another. */
function relativePath(from: string, to: string): string {
  // On Windows too: C:\a begins with the name of its drive, without a slash.
  const target = to.replace(/[/\\]$/, "").split(/[/\\]/);
  const start = from.split(/[/\\]/);
  let shared = 0;
  while (shared < target.length && target[shared] === start[shared]) shared++;
  return [
    ...start.slice(shared).map(() => ".."),
    ...target.slice(shared),
  ].join("/");
}
