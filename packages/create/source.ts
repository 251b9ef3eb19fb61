/**
 * The copy of the package that makes a project, and that the project then uses:
 * the published package, a copy of a clone in the project's folder, or the
 * sources at a URL.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { VERSION } from "../../src/core/version.ts";
import { exists } from "./files.ts";

/** The name under which projects import this package. */
export const PACKAGE = "@tool-server/tool-server";

/** The folder of a project that has its own copy of the package. */
export const VENDOR_FOLDER = "vendor/tool-server";

/** A copy of the package, as a project uses it. */
export interface PackageCopy {
  /** The members of the project's `deno.json` that point to the copy. */
  configuration: Record<string, unknown>;
  /** The module of the copy, for `deno doc`. */
  module: string;
  /** The folder from which the project's copy is made. */
  root?: string;
  /** A host from which Deno imports only with a flag. */
  host?: string;
  /** Folders of the copy that a program may have to read while it runs. */
  read?: readonly string[];
  /**
   * A description of where the copy is; undefined for the published package.
   */
  place?: string;
}

const IMPORTS = { [PACKAGE]: `jsr:${PACKAGE}@${VERSION}` };

export const PUBLISHED_COPY: PackageCopy = {
  configuration: { imports: IMPORTS },
  module: `jsr:${PACKAGE}`,
};

/** The parts of our own `deno.json` that point to our modules. */
interface OwnConfiguration {
  exports: Record<string, string>;
  imports: Record<string, string>;
  compilerOptions: Record<string, string>;
}

/** Finds the copy that contains this module. */
export async function findPackageCopy(): Promise<PackageCopy> {
  const root = new URL("../..", import.meta.url);
  if (root.protocol === "file:") {
    const path = fileURLToPath(root).replace(/[/\\]$/, "");
    return ownCopy(path, await originOf(path));
  }
  if (root.pathname.endsWith(`/${PACKAGE}/${VERSION}/`)) return PUBLISHED_COPY;
  const response = await fetch(new URL("deno.json", root));
  return remoteCopy(root, await response.json());
}

/**
 * Makes the source of a project that has its own copy of a clone.
 *
 * @param root the folder of the clone
 * @param origin the repository that was cloned; undefined if others cannot
 */
export function ownCopy(root: string, origin?: string): PackageCopy {
  const clone = origin ?? "ADDRESS-OR-FOLDER";
  return {
    configuration: { imports: IMPORTS, links: [`./${VENDOR_FOLDER}`] },
    module: `${VENDOR_FOLDER}/src/mod.ts`,
    root,
    read: [`${VENDOR_FOLDER}/packages/postgres`],
    place:
      `its own copy of the package, in \`${VENDOR_FOLDER}/\`: commit it, so that
other machines, images and workflows have it. To update:

\`\`\`sh
git clone ${clone} ../tool-server
deno task ts update ../tool-server
\`\`\``,
  };
}

/**
 * Reads the URL from which a folder was cloned, without user and password.
 * Undefined if the folder is no clone, or a clone of a local folder.
 */
async function originOf(root: string): Promise<string | undefined> {
  if (!await exists(`${root}/.git`)) return undefined;
  const { success, stdout } = await new Deno.Command("git", {
    args: ["-C", root, "remote", "get-url", "origin"],
    stderr: "null",
  }).output().catch(() => ({ success: false, stdout: new Uint8Array() }));
  return success ? printOrigin(new TextDecoder().decode(stdout)) : undefined;
}

/**
 * Returns the URL of a repository without credentials. Undefined if others
 * cannot clone it.
 */
export function printOrigin(address: string): string | undefined {
  const text = address.trim();
  if (/^[\w.-]+@[\w.-]+:[\w./~-]+$/.test(text)) return text;
  if (!/^(https?|ssh|git):/.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  url.password = url.search = url.hash = "";
  if (url.protocol !== "ssh:") url.username = "";
  return url.href;
}

/**
 * Makes the source of a project that uses the modules at a URL. They use bare
 * import specifiers, which only our own import map resolves.
 */
export function remoteCopy(root: URL, own: OwnConfiguration): PackageCopy {
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
      "`deno.json` say so.",
  };
}
