/**
 * Settings: the rows of their table, and the reader of their environment
 * variables.
 * @module
 */
import type { SettingComplaint } from "./complaint.ts";
import { hideSecrets } from "../net/url.ts";
import { isNear, lettersOf } from "../../authoring/options.ts";
import type { TrustedIssuer } from "../oauth/subject.ts";
import { ShapeError, type TextShape } from "./shapes.ts";

/** A row of the table of settings. */
export interface Setting {
  /** Sentences for operators, with code in backticks. */
  words: string;
  shape: TextShape<unknown>;
  /** The value of an unset variable. */
  default?: unknown;
  /** Describes the default where it cannot be written as a value. */
  unset?: string;
  example?: string;
  /** The fix for a wrong value; the default or the example if absent. */
  fix?: string;
  /**
   * True if an unset variable would admit more callers, or leave data
   * unencrypted. The server then does not start with a misspelt name of the
   * variable.
   */
  guards?: boolean;
  secret?: boolean;
  /** Formats a value without secrets; {@linkcode hideSecrets} by default. */
  print?(text: string): string;
}

export type NamedSetting = Setting & { name: string };

type Named<R> = { readonly [N in keyof R]: R[N] & { name: string } };

/** Sets the names of a table's settings. */
export function settingsOf<const R extends Readonly<Record<string, Setting>>>(
  rows: R,
): Named<R> {
  for (const [name, row] of Object.entries(rows)) Object.assign(row, { name });
  return rows as Named<R>;
}

/** A setting for identity providers whose assertions replace a sign-in. */
export type IssuerSetting = NamedSetting & {
  shape: TextShape<readonly TrustedIssuer[]>;
  default: readonly TrustedIssuer[];
};

export interface FeatureSettings {
  /** The title of the settings' group: a new one, or one of the core's. */
  title: string;
  /** The rows, made by {@linkcode settingsOf}. */
  rows: Readonly<Record<string, NamedSetting>>;
  /** The strategy for which the settings are read; by default any. */
  strategy?: "oauth";
  /** A setting that is read together with the rules about people. */
  assertionIssuers?: IssuerSetting;
}

export interface SettingsOwner {
  settings?: FeatureSettings;
}

/** The values of features' settings. */
export class FeatureValues {
  #values = new Map<NamedSetting, unknown>();

  /** Returns the value of a setting; the default if it was not read. */
  of<S extends NamedSetting>(setting: S): ValueOf<S>;
  of(setting: NamedSetting): unknown {
    return this.#values.has(setting)
      ? this.#values.get(setting)
      : setting.default;
  }

  read(setting: NamedSetting, settings: Settings): void {
    this.#values.set(setting, settings.read(setting));
  }
}

type ValueOf<S extends Setting> =
  | (S["shape"] extends TextShape<infer T> ? T : never)
  | (S extends { default: infer D } ? D : undefined);

/**
 * Returns the text that has the same effect as an unset variable; undefined if
 * there is none.
 */
export function defaultText(setting: Setting): string | undefined {
  const { default: value, secret, shape } = setting;
  const isText = Object(value) !== value || Array.isArray(value);
  if (secret || value === undefined || !isText) return undefined;
  const text = String(value);
  try {
    return text && String(shape.parse(text)) === text ? text : undefined;
  } catch {
    return undefined;
  }
}

/** The variables of the environment; an empty one counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Known names of variables, and functions by which the process reads them. */
export interface SettingsOptions {
  known?: readonly NamedSetting[];
  features?: readonly SettingsOwner[];
  /** Returns true if the process has no permission to read a variable. */
  isDenied?: (variable: string) => boolean;
  readFile?: (path: string) => string;
  /**
   * The names in the file `.env`, including those of variables that may not be
   * read.
   */
  namesInFile?: readonly string[];
  /** The complaints about the file `.env` itself. */
  complaints?: readonly SettingComplaint[];
}

/** Reads settings one by one, and collects complaints about them. */
export class Settings {
  readonly complaints: SettingComplaint[] = [];
  /** Sentences about settings that are probably mistakes. */
  readonly doubts: string[] = [];
  /** Variables whose names are values of other settings. */
  readonly #named: string[] = [];
  #misspellings?: ReturnType<typeof misspellings>;

  constructor(
    readonly environment: Environment,
    readonly options: SettingsOptions = {},
  ) {}

  /** Finds a misspelt form of a variable's name in the environment. */
  #misspelt(name: string): string | undefined {
    this.#misspellings ??= misspellings(
      [
        ...Object.keys(this.environment).filter((name) => this.text({ name })),
        ...this.options.namesInFile ?? [],
      ],
      new Set([
        ...this.#named,
        ...this.options.known?.map(({ name }) => name) ?? [],
      ]),
    );
    return this.#misspellings(name);
  }

  /**
   * Returns the value of a variable that another setting names. The name is
   * then not reported as misspelt.
   */
  namedText(name: string): string | undefined {
    this.#named.push(name);
    this.#misspellings = undefined;
    return this.text({ name });
  }

  /** Returns the value of a variable; undefined if it is unset or blank. */
  text({ name }: Pick<NamedSetting, "name">): string | undefined {
    return this.environment[name]?.trim() || undefined;
  }

  /**
   * Returns the parsed value of a setting; the default if it is unset, or
   * wrong, which adds a complaint.
   */
  read<S extends NamedSetting>(setting: S): ValueOf<S>;
  read(setting: NamedSetting): unknown {
    const got = this.text(setting);
    if (got === undefined && setting.guards && this.#misspelt(setting.name)) {
      this.complain(setting);
    }
    try {
      return got === undefined ? setting.default : setting.shape.parse(got);
    } catch (error) {
      const detail = error instanceof ShapeError && error.message;
      const { wants } = setting.shape;
      this.complain(setting, {
        got,
        wants: detail ? `${wants} (${detail})` : wants,
      });
      return setting.default;
    }
  }

  /**
   * Returns the parsed value of a setting; the author's value if the variable
   * is unset.
   */
  readOr<S extends NamedSetting>(
    setting: S,
    authors: ValueOf<S> | undefined,
  ): ValueOf<S> {
    const isSet = this.text(setting) !== undefined;
    return isSet || authors === undefined ? this.read(setting) : authors;
  }

  /**
   * Returns the parsed value of a setting; complains if the variable is unset.
   */
  require<S extends NamedSetting>(setting: S): ValueOf<S> {
    if (this.text(setting) !== undefined) return this.read(setting);
    this.complain(setting);
    return setting.default as ValueOf<S>;
  }

  /**
   * Adds a complaint, by default with the description and fix of the setting.
   */
  complain(
    setting: NamedSetting,
    { got, wants = setting.shape.wants, fix = this.#fixOf(setting) }: Partial<
      SettingComplaint
    > = {},
  ): void {
    this.complaints.push({
      variable: setting.name,
      got: got &&
        (setting.secret ? "(hidden)" : (setting.print ?? hideSecrets)(got)),
      wants: hideSecrets(wants),
      fix,
    });
  }

  #fixOf(setting: NamedSetting): string {
    const { name, example, fix } = setting;
    const isUnset = this.text(setting) === undefined;
    if (isUnset && this.options.isDenied?.(name)) {
      return "It may not be read: run `deno task ts settings`, which adds it " +
        `to deno.json, or run with --allow-env=${name}`;
    }
    const misspelt = isUnset && this.#misspelt(name);
    if (misspelt) return `${misspelt} is not read: rename it`;
    if (fix !== undefined) return fix;
    const usual = defaultText(setting);
    if (usual !== undefined) return `Use ${name}=${usual}, or leave it unset`;
    return example === undefined
      ? "Set it in .env or in the environment"
      : `Use ${name}=${example}, for example`;
  }

  /**
   * Lists sentences about doubtful values, misspelt names and unknown names.
   */
  notes(): string[] {
    const misspelt = (this.options.known ?? []).flatMap((setting) => {
      const { name } = setting;
      if (this.text(setting) !== undefined) return [];
      const misspelt = this.#misspelt(name);
      return misspelt ? [`${misspelt} is not read: is ${name} meant?`] : [];
    });
    return [...this.doubts, ...misspelt, ...this.#unknown(misspelt)];
  }

  /** Lists sentences about names that begin like settings, but are not. */
  #unknown(misspelt: readonly string[]): string[] {
    const known = this.options.known?.map(({ name }) => name) ?? [];
    const read = [...known, ...this.#named];
    const reported = [...this.doubts, ...misspelt];
    return Object.keys(this.environment).filter((name) =>
      OWN_NAME.test(name) && this.text({ name }) && !read.includes(name) &&
      !reported.some((note) => note.startsWith(`${name} `))
    ).map((name) => {
      const own = lettersOf(name.replace(/^[A-Z]+_/, ""));
      const near = known.find((it) => tailsOf(it).some((t) => isNear(t, own)));
      const words = near ? `is ${near} meant?` : "there is no such setting";
      return `${name} is not read: ${words}`;
    });
  }
}

/**
 * Matches the variables that are reported if no setting has their name. The
 * operator chooses how the name of a client's secret ends, so these are left
 * out.
 */
const OWN_NAME =
  /^(?:OAUTH|CIMD)_(?!CLIENT_SECRET_)|^ACCOUNT_\w+_CLIENT_(?:ID|SECRET)$/;

/** Lists the suffixes of a name, as letters: `bc` and `c` for `A_B_C`. */
function tailsOf(name: string): string[] {
  const words = name.split("_");
  return words.slice(1).map((_, at) => lettersOf(words.slice(at + 1).join("")));
}

/**
 * Makes a function that finds the misspelt form of an unset variable: a name
 * that is set but not read, and differs by one letter (missing, added, wrong,
 * or swapped with the next). Case and underscores are ignored.
 * @param set names of variables that are set
 * @param known every name that is read
 */
function misspellings(
  set: readonly string[],
  known: ReadonlySet<string | undefined>,
): (name: string) => string | undefined {
  const strangers = set.filter((name) => !known.has(name))
    .map((name) => ({ name, letters: lettersOf(name) }))
    // A name of one or two letters, such as the shell's `_`, would be near to
    // any name.
    .filter(({ letters }) => letters.length > 2);
  return (name) => {
    const letters = lettersOf(name);
    return strangers.find((it) => isNear(it.letters, letters))?.name;
  };
}
