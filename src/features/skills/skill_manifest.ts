/**
 * A skill as clients get it, and its files as resources.
 *
 * @module
 * @see https://modelcontextprotocol.io/seps/2640-skills-extension
 */
import type { CommonDefinition } from "../../authoring/context.ts";
import type { Resource } from "../../authoring/resource.ts";
import type { Skill } from "../../authoring/skill.ts";
import { sha256Hex } from "../../core/crypto/crypto.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { resourceEntry } from "../../core/catalogue/descriptions.ts";
import { MAX_URI_CHARACTERS } from "../../core/catalogue/uri_template.ts";

/** The name by which servers declare the skills extension. */
export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

/** The maximum number of files that every client accepts (SEP-2640, Limits). */
const MAX_FILES = 512;
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * The maximum size in bytes of a page of the list. Some clients read a page as
 * a whole.
 */
const MAX_PAGE_BYTES = 512 * 1024;

export interface CompiledSkill extends CommonDefinition {
  /** The URI of the skill's `SKILL.md`. */
  uri: string;
  entry: JsonObject;
  /** The skill's files, `SKILL.md` first. */
  resources: readonly Resource[];
  directories: ReadonlyMap<string, Directory>;
}

/** The entries of a directory, and the scopes that reading it needs. */
export interface Directory {
  resources: JsonObject[];
  scopes?: readonly string[];
}

/**
 * Compiles a skill: its URI is `skill://NAME/SKILL.md`.
 *
 * @throws {Error} if clients would refuse it
 */
export function compileSkill(
  { files, scopes, frontmatter }: Skill,
): CompiledSkill {
  const read = frontmatter();
  const { name, description } = checkFrontmatter(read);
  const manual = files["SKILL.md"] as string;
  const others = Object.keys(files).filter((path) => path !== "SKILL.md");
  const paths = ["SKILL.md", ...others];
  paths.forEach(checkPath);
  checkLinks(manual, paths);
  const root = `skill://${name}`;
  const resources = paths.map((path): Resource => {
    const content = files[path];
    const isManual = path === "SKILL.md";
    const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
    const mimeType = MEDIA_TYPES[ending];
    return {
      kind: "resource",
      uri: `${root}/${path}`,
      name: isManual ? name : path.slice(path.lastIndexOf("/") + 1),
      ...(isManual && { description }),
      ...(mimeType && { mimeType }),
      ...(scopes && { scopes }),
      size: bytesOf(content).length,
      read: () => content,
    };
  });
  checkLimits(resources);
  return {
    name,
    description,
    ...(scopes && { scopes }),
    uri: resources[0].uri,
    entry: {
      uri: resources[0].uri,
      frontmatter: read,
      resources: resources.map(({ uri, size }, index) => ({
        uri,
        digest: `sha256:${sha256Hex(bytesOf(files[paths[index]]))}`,
        size,
      })),
    },
    resources,
    directories: directoriesOf(root, resources, scopes),
  };
}

/**
 * Returns the number of skills on a page of the list, so that every client can
 * read a whole page.
 */
export function skillsPerPage(entries: readonly JsonObject[]): number {
  const largest = Math.max(
    1,
    ...entries.map((entry) => JSON.stringify(entry).length),
  );
  return Math.max(1, Math.floor(MAX_PAGE_BYTES / largest));
}

/**
 * Checks the front matter of a skill.
 *
 * @see https://agentskills.io/specification#frontmatter
 */
function checkFrontmatter(
  { name, description, metadata }: JsonObject,
): { name: string; description: string } {
  if (
    typeof name !== "string" || name.length > 64 ||
    !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)
  ) {
    throw new Error(
      "name must be the folder's: 1 to 64 characters of a-z, 0-9 and single -",
    );
  }
  if (
    typeof description !== "string" || description.trim() === "" ||
    description.length > 1024
  ) {
    throw new Error(
      "description must have 1 to 1024 characters: what it does, and when to " +
        "use it",
    );
  }
  if (metadata !== undefined && !isObject(metadata)) {
    throw new Error("metadata must be a map, such as author: Ada");
  }
  const reserved = Object.keys(metadata ?? {}).find((key) =>
    key.startsWith("io.modelcontextprotocol/")
  );
  if (reserved !== undefined) {
    throw new Error(`metadata: ${reserved} is a name for extensions of MCP`);
  }
  return { name, description };
}

/** Checks that a path means the same in Markdown and in a URI. */
function checkPath(path: string): void {
  const isPlain = path.split("/").every((name) =>
    /^[A-Za-z0-9._-]+$/.test(name) && name !== "." && name !== ".."
  );
  if (isPlain && path.length <= MAX_URI_CHARACTERS / 2) return;
  throw new Error(
    `${path} must be a path in the skill's folder, such as ` +
      "references/terms.md, of letters, digits, ., _ and -",
  );
}

/** Checks that `files` has every file that `SKILL.md` links to. */
function checkLinks(manual: string, paths: readonly string[]): void {
  const prose = manual.replaceAll(/^(```|~~~)[\s\S]*?^\1/gm, "")
    .replaceAll(/`[^`\n]*`/g, "");
  for (const [, link] of prose.matchAll(/\]\(<?([^()\s<>#?]+)[^()]*\)/g)) {
    if (/^[a-z][a-z0-9+.-]*:|^\/|^\.\.\//i.test(link)) continue;
    const path = link.replace(/^(\.\/)+/, "").replace(/\/$/, "");
    const isThere = path === "" || path === "." ||
      paths.some((it) => it === path || it.startsWith(`${path}/`));
    if (isThere) continue;
    throw new Error(
      `SKILL.md links to ${link}, which is not among its files: import it ` +
        "too, and add it to files",
    );
  }
}

function checkLimits(resources: readonly Resource[]): void {
  const bytes = resources.reduce((sum, { size }) => sum + size!, 0);
  if (resources.length <= MAX_FILES && bytes <= MAX_BYTES) return;
  throw new Error(
    `a skill must have at most ${MAX_FILES} files and 16 MiB: this one has ` +
      `${resources.length} files and ${bytes} bytes`,
  );
}

/** Lists every directory of a skill, its root first. */
function directoriesOf(
  root: string,
  files: readonly Resource[],
  scopes: readonly string[] | undefined,
): Map<string, Directory> {
  const directories = new Map<string, Directory>([
    [root, { resources: [], scopes }],
  ]);
  /** Finds a directory, or adds it to its parent. */
  function directoryAt(uri: string): Directory {
    const known = directories.get(uri);
    if (known) return known;
    const [parent, name] = splitPath(uri);
    directoryAt(parent).resources.push({
      uri,
      name,
      mimeType: "inode/directory",
    });
    const directory: Directory = { resources: [], scopes };
    directories.set(uri, directory);
    return directory;
  }
  for (const file of files) {
    directoryAt(splitPath(file.uri)[0]).resources.push(resourceEntry(file));
  }
  return directories;
}

function splitPath(uri: string): [parent: string, name: string] {
  const slash = uri.lastIndexOf("/");
  return [uri.slice(0, slash), uri.slice(slash + 1)];
}

/** The media types of common files. */
const MEDIA_TYPES: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  css: "text/css",
  csv: "text/csv",
  gif: "image/gif",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  md: "text/markdown",
  pdf: "application/pdf",
  png: "image/png",
  py: "text/x-python",
  sh: "text/x-shellscript",
  svg: "image/svg+xml",
  ts: "text/x-typescript",
  txt: "text/plain",
  webp: "image/webp",
  xml: "text/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
};

const encoder = new TextEncoder();

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? encoder.encode(content) : content;
}
