/**
 * The project, or the clone, into which tools are imported.
 *
 * @module
 */
import { emptyList, listDefinition } from "../create/definition_files.ts";
import { CreateError, exists, readServer } from "../create/files.ts";
import { isClone } from "../create/package_files.ts";
import { usageFailure } from "../call/failure.ts";
import {
  fingerprintOf,
  type ImportedFile,
  inClone,
  parseImported,
  printImported,
} from "./imported_file.ts";

/** A file that is to be written, formatted. */
export type NewFile = Omit<ImportedFile, "isChanged">;

/** The folders and the imported files of a project. */
export class ImportProject {
  private constructor(
    private readonly root: string,
    private readonly isClone: boolean,
    /** The imported files, by `service id`. */
    readonly files: ReadonlyMap<string, ImportedFile>,
  ) {}

  /** Reads a project. @throws {CreateError} if there is none */
  static async open(root = "."): Promise<ImportProject> {
    await readServer(root);
    const clone = await isClone(root);
    const files = new Map<string, ImportedFile>();
    for (const folder of ["tools", "services"]) {
      const path = clone ? `src/${folder}` : folder;
      if (!await exists(`${root}/${path}`)) continue;
      for await (const { name, isFile } of Deno.readDir(`${root}/${path}`)) {
        if (!isFile || !name.endsWith(".ts")) continue;
        const text = await Deno.readTextFile(`${root}/${path}/${name}`);
        const file = parseImported(`${path}/${name}`, text);
        if (file) files.set(`${file.service} ${file.id}`, file);
      }
    }
    return new ImportProject(root, clone, files);
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

  /** Gives the path of a file in one of the two folders. */
  path(folder: "tools" | "services", name: string): string {
    return `${this.isClone ? "src/" : ""}${folder}/${name}`;
  }

  /** True if a file exists. */
  has(path: string): Promise<boolean> {
    return exists(`${this.root}/${path}`);
  }

  /** Formats files as the project does, all at once. */
  async formatted(
    files: readonly Omit<NewFile, "fingerprint">[],
  ): Promise<NewFile[]> {
    const folder = await Deno.makeTempDir({ prefix: "import-" });
    const pathOf = (index: number) => `${folder}/${index}.ts`;
    try {
      for (const [index, { text }] of files.entries()) {
        await Deno.writeTextFile(pathOf(index), this.#own(text));
      }
      await this.#format(files.map((_, index) => pathOf(index)));
      return await Promise.all(files.map(async (file, index) => {
        const text = await Deno.readTextFile(pathOf(index));
        return { ...file, text, fingerprint: fingerprintOf(text) };
      }));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }

  #own(text: string): string {
    return this.isClone ? inClone(text) : text;
  }

  async #format(paths: readonly string[]): Promise<void> {
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["fmt", "--quiet", "--config", "deno.json", ...paths],
      cwd: this.root,
      stdout: "null",
    }).output();
    if (success) return;
    const words = new TextDecoder().decode(stderr).slice(0, 500);
    throw new CreateError(`The files cannot be formatted: ${words}`);
  }

  /**
   * Writes a file in one step: if the program is stopped, either the old or the
   * new file is there.
   */
  async write(file: NewFile): Promise<void> {
    await this.#replace(file.path, printImported(file));
  }

  async #replace(path: string, text: string): Promise<void> {
    const full = `${this.root}/${path}`;
    await Deno.mkdir(full.replace(/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${full}.new`, text);
    await Deno.rename(`${full}.new`, full);
  }

  /**
   * Adds tools to the list of tools; false if the list does not have the form
   * that `create` makes.
   */
  async list(names: readonly string[]): Promise<boolean> {
    const path = this.path("tools", "mod.ts");
    const isThere = await this.has(path);
    let list = isThere
      ? await Deno.readTextFile(`${this.root}/${path}`)
      : this.#own(emptyList("tool"));
    for (const name of names) {
      if (list.includes(`"./${name}.ts"`)) continue;
      const listed = listDefinition("tool", list, name);
      if (listed === undefined) return false;
      list = listed;
    }
    await this.#replace(path, list);
    await this.#format([path]);
    return true;
  }
}
