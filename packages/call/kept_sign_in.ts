/**
 * The sign-in at one server, in a file that only its person can read.
 *
 * @module
 */
import type { Registration, Tokens } from "../client/mod.ts";

export interface KeptSignIn {
  /** The URL of the server that issued the tokens. */
  url: string;
  registration: Registration;
  tokens: Tokens;
}

/** The file of one server, which one process at a time changes. */
export class KeptSignInFile {
  private constructor(
    private readonly directory: string,
    private readonly path: string,
    private readonly url: string,
  ) {}

  /** Finds the file of a server in a directory, which need not exist. */
  static async of(directory: string, url: string): Promise<KeptSignInFile> {
    const bytes = new TextEncoder().encode(url);
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    const name = new Uint8Array(digest).toHex().slice(0, 32);
    return new KeptSignInFile(directory, `${directory}/${name}.json`, url);
  }

  /**
   * Reads the stored sign-in. Undefined if there is none, or it cannot be used.
   */
  async read(): Promise<KeptSignIn | undefined> {
    try {
      const text = await Deno.readTextFile(this.path);
      const kept: KeptSignIn | null = JSON.parse(text);
      const { url, tokens, registration } = kept ?? {};
      const isWhole = typeof tokens?.accessToken === "string" &&
        typeof registration?.clientId === "string";
      return kept && isWhole && url === this.url ? kept : undefined;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  /**
   * Changes the stored sign-in, while other processes wait; undefined deletes
   * it.
   */
  async change(
    make: (kept: KeptSignIn | undefined) => Promise<KeptSignIn | undefined>,
  ): Promise<KeptSignIn | undefined> {
    await Deno.mkdir(this.directory, { recursive: true, mode: 0o700 });
    using lock = await Deno.open(`${this.path}.lock`, {
      create: true,
      write: true,
      mode: 0o600,
    });
    await lock.lock(true);
    const before = await this.read();
    const after = await make(before);
    if (after === undefined) {
      if (before !== undefined) await Deno.remove(this.path);
    } else if (after !== before) {
      await this.#write(after);
    }
    return after;
  }

  /**
   * Writes a new file and renames it, so that a reader never finds half of one.
   */
  async #write(kept: KeptSignIn): Promise<void> {
    const path = `${this.path}.${crypto.randomUUID()}`;
    try {
      await Deno.writeTextFile(path, JSON.stringify(kept), {
        createNew: true,
        mode: 0o600,
      });
      await Deno.rename(path, this.path);
    } catch (error) {
      await Deno.remove(path).catch(() => {});
      throw error;
    }
  }
}

/**
 * Finds the directory of stored sign-ins, in the person's settings directory.
 */
export function signInDirectory(
  env: (name: string) => string | undefined,
): string | undefined {
  const home = env("HOME");
  const settings = Deno.build.os === "windows"
    ? env("APPDATA")
    : env("XDG_CONFIG_HOME") || home &&
        (Deno.build.os === "darwin"
          ? `${home}/Library/Application Support`
          : `${home}/.config`);
  return settings ? `${settings}/tool-server/sign-ins` : undefined;
}
