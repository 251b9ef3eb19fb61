/**
 * The project, or the clone, into which tools are imported.
 *
 * @module
 */
import { emptyList, listDefinition } from "../create/definition_files.ts";
import { CreateError, exists, readServer } from "../create/files.ts";
import { isClone } from "../create/package_files.ts";
import { usageFailure } from "../call/failure.ts";
import { ImportError } from "./document.ts";
import {
  fingerprintOf,
  type ImportedFile,
  inClone,
  parseImported,
} from "./imported_file.ts";

/** Finds the settings that the module of a service declares. */
const settingsIn = (text: string) =>
  new Set(
    [...text.matchAll(/\b([A-Z][A-Z0-9_]*):\s*(?:secret\(|z\b)/g)]
      .map(([, name]) => name),
  );

/** A formatted file that is to be written. */
export type NewFile = Omit<ImportedFile, "isChanged">;

/** The folders and the imported files of a project. */
export class ImportProject {
  private constructor(
    private readonly root: string,
    private readonly isClone: boolean,
    /** The imported files, by `service id`. */
    readonly files: ReadonlyMap<string, ImportedFile>,
    /** The paths of all that is in the two folders, in lower case. */
    private readonly paths: ReadonlySet<string>,
  ) {}

  /** Reads a project. @throws {CreateError} if there is none */
  static async open(root = "."): Promise<ImportProject> {
    await readServer(root);
    const clone = await isClone(root);
    const files = new Map<string, ImportedFile>();
    const paths = new Set<string>();
    for (const folder of ["tools", "services"]) {
      const path = clone ? `src/${folder}` : folder;
      if (!await exists(`${root}/${path}`)) continue;
      for await (const { name, isFile } of Deno.readDir(`${root}/${path}`)) {
        paths.add(`${path}/${name}`.toLowerCase());
        if (!isFile || !name.endsWith(".ts")) continue;
        const text = await Deno.readTextFile(`${root}/${path}/${name}`);
        const file = parseImported(`${path}/${name}`, text);
        if (file) files.set(`${file.service} ${file.id}`, file);
      }
    }
    return new ImportProject(root, clone, files, paths);
  }

  /**
   * Finds the file of the service that was made from a source.
   *
   * @throws {Failure} if there are several
   */
  serviceOf(source: string): ImportedFile | undefined {
    const found = [...this.files.values()].filter((it) => it.source === source);
    if (found.length < 2) return found[0];
    const names = found.map(({ service }) => service).join(" and ");
    throw usageFailure(`It was imported as ${names}: add --as NAME.`);
  }

  /** Returns the path of a file in one of the two folders. */
  path(folder: "tools" | "services", name: string): string {
    return `${this.isClone ? "src/" : ""}${folder}/${name}`;
  }

  /**
   * True if there is a file at this path, or at one that differs only in case:
   * some systems take both for the same.
   */
  has(path: string): boolean {
    return this.paths.has(path.toLowerCase());
  }

  /** Formats files as the project does, all at once. */
  async formatted(
    files: readonly Omit<NewFile, "fingerprint">[],
  ): Promise<NewFile[]> {
    const folder = await Deno.makeTempDir({ prefix: "import-" });
    const paths = files.map((_, index) => `${folder}/${index}.ts`);
    try {
      for (const [index, { text }] of files.entries()) {
        await Deno.writeTextFile(paths[index], this.#own(text));
      }
      const { success, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["fmt", "--quiet", "--config", "deno.json", ...paths],
        cwd: this.root,
        stdout: "null",
      }).output();
      if (!success) {
        const words = new TextDecoder().decode(stderr).slice(0, 500);
        throw new CreateError(`The files cannot be formatted: ${words}`);
      }
      return await Promise.all(files.map(async (file, index) => {
        const text = await Deno.readTextFile(paths[index]);
        return { ...file, text, fingerprint: fingerprintOf(text) };
      }));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }

  #own(text: string): string {
    return this.isClone ? inClone(text) : text;
  }

  /**
   * Writes a file in one step: if the program is stopped, either the old or the
   * new file is there.
   */
  async write({ path }: NewFile, text: string): Promise<void> {
    const full = `${this.root}/${path}`;
    await Deno.mkdir(full.replace(/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${full}.new`, text);
    await Deno.rename(`${full}.new`, full);
  }

  /** Reads the list of tools, or makes it. */
  async #list(): Promise<string> {
    const path = this.path("tools", "mod.ts");
    return this.has(path)
      ? await Deno.readTextFile(`${this.root}/${path}`)
      : this.#own(emptyList("tool"));
  }

  /** Finds the modules of tools that the list imports, and that are gone. */
  async absent(): Promise<string[]> {
    const list = await this.#list();
    return [...list.matchAll(/^import .* from "\.\/([\w-]+\.ts)";$/gm)]
      .map(([, name]) => name)
      .filter((name) => !this.has(this.path("tools", name)));
  }

  /**
   * Checks that no other service has a setting of this name: `a_b` and `URL`,
   * or `a` and `B_URL`.
   *
   * @throws {ImportError}
   */
  checkSettings(path: string, text: string): void {
    const own = settingsIn(text);
    for (const other of this.files.values()) {
      if (other.id !== "service" || other.path === path) continue;
      const met = [...settingsIn(other.text).intersection(own)];
      if (met.length === 0) continue;
      throw new ImportError(
        `${other.path} has the setting ${met.join(", ")} too: add --as NAME.`,
      );
    }
  }

  /** Finds the tools that are not in the list. */
  async unlisted(names: readonly string[]): Promise<string[]> {
    const list = await this.#list();
    return names.filter((name) => !list.includes(`"./${name}.ts"`));
  }

  /**
   * Adds tools to the list; undefined if the list does not have the form that
   * `create` makes.
   */
  async listed(names: readonly string[]): Promise<NewFile | undefined> {
    let text: string | undefined = await this.#list();
    for (const name of names) text &&= listDefinition("tool", text, name);
    if (text === undefined) return undefined;
    const path = this.path("tools", "mod.ts");
    return (await this.formatted([{ path, service: "", id: "", text }]))[0];
  }
}
