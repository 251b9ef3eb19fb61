/**
 * The project, or the clone, into which tools are imported.
 *
 * @module
 */
import { basename, dirname, join } from "node:path/posix";
import { emptyList, listDefinition } from "../create/definition_files.ts";
import {
  CreateError,
  exists,
  readServer,
  replaceFile,
} from "../create/files.ts";
import { isClone } from "../create/package_files.ts";
import { usageFailure } from "../call/failure.ts";
import { ImportError } from "./document.ts";
import {
  fingerprintOf,
  hindranceIn,
  type ImportedFile,
  inClone,
  parseImported,
  plainText,
  serviceNameIn,
  type ServicePlace,
} from "./imported_file.ts";
import { camelCase, TAKEN_NAMES, TEST } from "./names.ts";
import type { ImportItem } from "./source.ts";

/** Finds the settings that the module of a service declares. */
const settingsIn = (text: string) =>
  new Set(
    [...text.matchAll(/\b([A-Z][A-Z0-9_]*):\s*(?:secret\(|z\b)/g)]
      .map(([, name]) => name),
  );

/** Says that a service may have been made of another source. */
export const sayAnotherSource = (
  { path, service, url, own = "" }: ImportedFile,
  words: string,
) =>
  `${path} was made for ${
    url ?? own
  }, and this source ${words}. If it is the ` +
  `same API, add --as ${service}, else --as another name.`;

/** Captures the ID of a tool in that of its test. */
export const TEST_OF = /^test of (.*)/;

/** Matches the name of a tool in any module. */
const TOOL = /\btool\(\{\s*name: ["']([\w.-]+)["']/g;

/** The folders and the imported files of a project. */
export class ImportProject {
  /** The imported files, by `service id`. */
  readonly files = new Map<string, ImportedFile>();
  /** The names of the tools. The file of a tool may have another name. */
  readonly toolNames = new Set<string>();
  /** The paths in the two folders, in lower case. */
  readonly #paths = new Set<string>();
  /** The texts of files, by path, as they were last read. */
  readonly #texts = new Map<string, string>();
  /** The paths of new texts that no command has put in place yet. */
  readonly #unfinished: string[] = [];
  /** The reasons why the import cannot continue. */
  readonly #hindrances: string[] = [];

  private constructor(
    private readonly root: string,
    private readonly isClone: boolean,
  ) {}

  /**
   * Reads a project.
   *
   * @throws {Failure} if there is none, or if a file of it cannot be understood,
   * unless `isOptional`
   */
  static async open(root = ".", isOptional = false): Promise<ImportProject> {
    if (!isOptional) await readServer(root);
    const project = new ImportProject(root, await isClone(root));
    for (const folder of ["tools", "services"] as const) {
      const path = project.path(folder);
      if (await exists(`${root}/${path}`)) await project.#readFolder(path);
    }
    const [hindrance] = [...project.#hindrances, ...project.#lostTests()];
    if (hindrance === undefined || isOptional) return project;
    throw usageFailure(hindrance);
  }

  async #readFolder(folder: string): Promise<void> {
    for await (const entry of Deno.readDir(`${this.root}/${folder}`)) {
      const path = `${folder}/${entry.name}`;
      this.#paths.add(path.toLowerCase());
      if (entry.isDirectory) await this.#readFolder(path);
      if (!entry.isFile) continue;
      if (path.endsWith(".ts.new")) this.#unfinished.push(path);
      if (!path.endsWith(".ts")) continue;
      const file = await this.imported(path);
      const text = this.#texts.get(path) ?? "";
      for (const [, tool] of text.matchAll(TOOL)) this.toolNames.add(tool);
      const hindrance = hindranceIn(path, text);
      if (hindrance) this.#hindrances.push(hindrance);
      if (!file) continue;
      const key = `${file.service} ${file.id}`;
      const other = this.files.get(key);
      this.files.set(key, file);
      if (!other) continue;
      this.#hindrances.push(
        `${other.path} and ${path} were both made of ${file.id}: delete the ` +
          "first line of the one that is your own.",
      );
    }
  }

  /** Finds the tests of tools that their author has taken over. */
  #lostTests(): string[] {
    return [...this.files.values()].flatMap(({ path, text, service, id }) => {
      const [, tested] = TEST_OF.exec(id) ?? [];
      if (!tested || this.files.has(`${service} ${tested}`)) return [];
      const [, module = ""] =
        /^import \w+ from ["'](\.[^"']*)["']/m.exec(text) ?? [];
      const tool = join(dirname(path), module);
      if (!module || !this.has(tool)) return [];
      return [
        `${path} tests ${tool}, which is your own: delete its first line too.`,
      ];
    });
  }

  /** Returns the parts of a service that its author may have renamed. */
  place(service: string): ServicePlace {
    const file = this.files.get(`${service} service`);
    return {
      path: file?.path ?? this.path("services", `${service}.ts`),
      variable: serviceNameIn(file?.text ?? "") ?? camelCase(service, "api"),
    };
  }

  /** True if the author has changed a file since it was written. */
  isChanged(file: ImportedFile): boolean {
    return fingerprintOf(file, this.place(file.service)) !== file.fingerprint;
  }

  /** Deletes the new texts that an import had written before it was killed. */
  async removeUnfinished(): Promise<void> {
    for (const path of this.#unfinished) {
      const text = await Deno.readTextFile(`${this.root}/${path}`);
      const isOurs = text === "" || path.endsWith("/mod.ts.new") ||
        parseImported(path, text);
      if (isOurs) await Deno.remove(`${this.root}/${path}`);
    }
  }

  /** Reads an imported file. Undefined if there is none at the path. */
  async imported(path: string): Promise<ImportedFile | undefined> {
    return parseImported(path, await this.#read(path) ?? "");
  }

  async #read(path: string): Promise<string | undefined> {
    this.#texts.delete(path);
    if (!await exists(`${this.root}/${path}`)) return undefined;
    const text = await Deno.readTextFile(`${this.root}/${path}`);
    this.#texts.set(path, text);
    return text;
  }

  /**
   * Finds the file of the service that was made from a source: by the title of
   * the source, and by its address if it has one, because many sources have the
   * same title. Undefined if no file has the title.
   *
   * @param isCheck true to accept the only file of another address
   * @throws {Failure} if several files fit, or the only one has another address
   */
  serviceOf(
    source: string,
    address: string | undefined,
    isCheck = false,
  ): ImportedFile | undefined {
    const titled = [...this.files.values()]
      .filter(({ id, service, ...it }) =>
        it.source === source || id === "service" && service === source
      );
    const found = address === undefined
      ? titled
      : titled.filter(({ own, url }) => [own, url].includes(address));
    if (found.length === 1) return found[0];
    const [it, ...others] = titled;
    if (it === undefined || isCheck && others.length === 0) return it;
    const names = titled.map(({ service }) => service).join(" and ");
    throw usageFailure(
      others.length > 0
        ? `It was imported as ${names}: add --as NAME.`
        : sayAnotherSource(it, `has the same title and the address ${address}`),
    );
  }

  /** Returns the path of one of the two folders, or of a file in it. */
  path(folder: "tools" | "services", name?: string): string {
    return `${this.isClone ? "src/" : ""}${folder}${name ? `/${name}` : ""}`;
  }

  /**
   * True if there is a file at this path, or at one that differs only in case,
   * because some systems ignore case.
   */
  has(path: string): boolean {
    return this.#paths.has(path.toLowerCase());
  }

  /**
   * Gives items the names that the files of their tools have, or would get,
   * without `.ts`. Their own names become aliases.
   */
  named<I extends ImportItem>(items: readonly I[], service: string): I[] {
    const names = new Set<string>();
    return items.map((item) => {
      const there = this.files.get(`${service} ${item.id}`)?.path;
      const test = this.files.get(`${service} test of ${item.id}`)?.path;
      const kept = there ?? test?.replace(/_test\.ts$/, ".ts");
      const name = kept && (there || !this.has(kept))
        ? basename(kept, ".ts")
        : this.#freeName(item.name, service, names);
      names.add(name);
      return { ...item, name, aliases: [...item.aliases, item.name] };
    });
  }

  /** Finds a free name for a tool. */
  #freeName(wanted: string, service: string, names: ReadonlySet<string>) {
    const isThere = (name: string) =>
      this.has(this.path("tools", `${name}.ts`)) || this.toolNames.has(name);
    const isFree = (name: string) =>
      !names.has(name) && !TAKEN_NAMES.has(camelCase(name, "")) &&
      !TAKEN_NAMES.has(name) && !TEST.test(name) &&
      !isThere(name) && !isThere(`${name}_test`);
    const own = `${wanted.slice(0, 60 - service.length)}_${service}`;
    let name = wanted;
    for (let count = 1; !isFree(name); count++) {
      name = count === 1 ? own : `${own}_${count}`;
    }
    return name;
  }

  /** Formats files as the project does, all at once. */
  async formatted(
    files: readonly Omit<ImportedFile, "fingerprint">[],
  ): Promise<ImportedFile[]> {
    const folder = await Deno.makeTempDir({ prefix: "import-" });
    const paths = files.map((_, index) => `${folder}/${index}.ts`);
    try {
      for (const [index, { text, path }] of files.entries()) {
        await Deno.writeTextFile(paths[index], this.#own(text, path));
      }
      const { success, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["fmt", "--quiet", "--config", "deno.json", ...paths],
        cwd: this.root,
        env: { NO_COLOR: "1", RUST_BACKTRACE: "0" },
        stdout: "null",
        signal: AbortSignal.timeout(120_000),
      }).output();
      if (!success) {
        const [, words = "it takes too long"] =
          /^error: ([^]*?)(?:\n\n(?:Stack|$)|$)/m.exec(
            new TextDecoder().decode(stderr),
          ) ?? [];
        throw new CreateError(
          `The files cannot be formatted: ${
            words.slice(0, 500).replaceAll(/\s+/g, " ").replace(/\.$/, "")
          }.`,
        );
      }
      return await Promise.all(files.map(async (file, index) => {
        const text = await Deno.readTextFile(paths[index]);
        const place = this.place(file.service);
        return {
          ...file,
          text,
          fingerprint: fingerprintOf({ ...file, text }, place),
        };
      }));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }

  #own(text: string, path: string): string {
    return this.isClone ? inClone(text, path) : text;
  }

  /**
   * Writes a file in one step, unless it has changed since it was read.
   *
   * @throws {CreateError} if it has changed
   */
  async write({ path }: ImportedFile, text: string): Promise<void> {
    const full = `${this.root}/${path}`;
    await Deno.mkdir(full.replace(/[^/]*$/, ""), { recursive: true });
    const before = this.#texts.get(path);
    if (await this.#read(path) !== before) {
      throw new CreateError(
        `${path} was changed meanwhile, and is left as it is. Run this again.`,
      );
    }
    await replaceFile(full, text);
  }

  /** Reads the module that lists the tools, or makes it. */
  async #list(): Promise<string> {
    const path = this.path("tools", "mod.ts");
    const list = await this.#read(path);
    return list === undefined
      ? this.#own(emptyList("tool"), path)
      : plainText(list);
  }

  /**
   * Finds the modules that the list of tools imports, but that do not exist.
   */
  async absent(): Promise<string[]> {
    const list = await this.#list();
    return [...list.matchAll(/^import .* from ["']\.\/([\w/-]+\.ts)["'];?$/gm)]
      .map(([, name]) => name)
      .filter((name) => !this.has(this.path("tools", name)));
  }

  /**
   * Checks that no other service has a setting of the same name: `A_B_URL` may
   * be the `URL` of `a_b` and the `B_URL` of `a`.
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

  /**
   * Adds missing tools to the module that lists them, and returns its text.
   * Undefined if no tool is missing, or if the module does not have the form
   * that `create` makes.
   */
  async listed(
    names: readonly string[],
  ): Promise<{ unlisted: string[]; list?: ImportedFile }> {
    const before = await this.#list();
    const unlisted = names.filter((it) =>
      !before.includes(`"./${it}.ts"`) && !before.includes(`'./${it}.ts'`)
    );
    let text: string | undefined = before;
    for (const name of unlisted) text &&= listDefinition("tool", text, name);
    if (text === undefined || unlisted.length === 0) return { unlisted };
    const path = this.path("tools", "mod.ts");
    const draft = { path, service: "", id: "", text };
    return { unlisted, list: (await this.formatted([draft]))[0] };
  }
}
