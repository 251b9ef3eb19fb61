/**
 * The keys and tokens that the author's code received in one call: those of a
 * person's accounts, and the server's own secret settings. Nothing that the
 * code throws or returns may contain any of them: a service may repeat the key
 * in a response, and an error may quote that response.
 * @module
 */
import { ToolError } from "../../../authoring/tool.ts";
import { fromBase64 } from "../../crypto/crypto.ts";
import { isRefusal } from "../../errors.ts";
import { isObject } from "../../json.ts";
import { LatestMap } from "../../cache.ts";
import {
  errorNameOf,
  isError,
  isInstance,
  reasonsOf,
  stackFramesOf,
  textOf,
  wholeMessageOf,
} from "../../thrown.ts";
import {
  HIDDEN_TEXT,
  type KeyForms,
  keyFormsOf,
  KeySearch,
  MIN_CHARACTERS,
  RECENT_KEYS,
} from "./key_forms.ts";

/**
 * The minimum number of letters and digits of a key that is hidden from all
 * callers.
 */
const MIN_LETTERS = 6;

/** True for a key that is long enough to be hidden from all callers. */
const isLong = (key: string) =>
  key.replace(/[^A-Za-z0-9]/g, "").length >= MIN_LETTERS;

/**
 * The maximum length of a key that is like a word: the longest names of members
 * in MCP have as many characters.
 */
const MAX_WORD = 20;

/**
 * True for a key that may well be a name in a program, or a number. Such a key
 * is hidden in texts alone: `text` is a member of most results.
 */
const isLikeWord = (key: string) =>
  !isLong(key) || key.length <= MAX_WORD && !/\d/.test(key);

/**
 * The members whose values are words or addresses of a protocol or a schema.
 */
const WORD_MEMBERS = new Set(
  "type role level mode format mimeType uri url audience theme required enum const includeContext"
    .split(" "),
);

/** The members with base64, if their object has `mimeType`. */
const BINARY_MEMBERS = new Set(["data", "blob"]);

/**
 * The maximum length of the text of a thrown value that is neither an error nor
 * a string.
 */
const MAX_TEXT_CHARACTERS = 16_000;

/**
 * Returns a thrown string, or an error's message, in full. The text of any
 * other value is replaced if it is too long.
 */
function wholeTextOf(thrown: unknown): string {
  if (isError(thrown)) return wholeMessageOf(thrown);
  if (typeof thrown === "string") return thrown;
  const text = textOf(thrown);
  return text.length < MAX_TEXT_CHARACTERS ? text : HIDDEN_TEXT;
}

/** The searches for some keys. */
interface Searches {
  /** For all of them. */
  texts: KeySearch;
  /** For those that are not like words. */
  names: KeySearch;
}

function searchesFor(keys: [string, KeyForms][]): Searches | undefined {
  if (keys.length === 0) return undefined;
  const search = (keys: [string, KeyForms][]) =>
    new KeySearch(keys.map(([, forms]) => forms));
  const texts = search(keys);
  const rare = keys.filter(([key]) => !isLikeWord(key));
  return { texts, names: rare.length < keys.length ? search(rare) : texts };
}

/** True if the own members of an error can be read, and contain no key. */
function isWithout({ texts }: Searches, error: Error): boolean {
  try {
    return !texts.isIn(JSON.stringify({ ...error }));
  } catch {
    return false;
  }
}

/** Returns the thrown value, or a copy without keys if it contains one. */
function clean(thrown: unknown, keys?: Searches): unknown {
  // A refusal contains no text of the author.
  if (!keys || isRefusal(thrown)) return thrown;
  let isClean = true;
  const hideIn = (text: string, search = keys.texts) => {
    const hidden = search.hide(text);
    isClean &&= hidden === text && text !== HIDDEN_TEXT;
    return hidden;
  };
  const copies = [thrown, ...reasonsOf(thrown)].map((error) => {
    const hidden = hideIn(wholeTextOf(error));
    if (isError(error) && !isWithout(keys, error)) isClean = false;
    const copy = new (isInstance(error, ToolError) ? ToolError : Error)(hidden);
    copy.name = hideIn(errorNameOf(error) ?? copy.name, keys.names);
    copy.stack = `${copy.name}: ${hidden}\n${hideIn(stackFramesOf(error))}`;
    return copy;
  });
  if (isClean) return thrown;
  copies.reduce((error, reason) => error.cause = reason);
  return copies[0];
}

/** Replaces the keys in a value that is made of JSON. */
function cleanMember(value: unknown, keys: Searches, isWord = false): unknown {
  const { texts, names } = keys;
  if (typeof value === "string") return (isWord ? names : texts).hide(value);
  if (typeof value === "number") {
    return names.isIn(`${value}`) ? HIDDEN_TEXT : value;
  }
  if (Array.isArray(value)) {
    return value.map((it) => cleanMember(it, keys, isWord));
  }
  if (!isObject(value)) return value;
  const isBinary = typeof value.mimeType === "string";
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isWord = WORD_MEMBERS.has(name) ||
        isBinary && BINARY_MEMBERS.has(name);
      return [names.hide(name), cleanMember(member, keys, isWord)];
    }),
  );
}

/**
 * Removes recently used keys from an error of an author's code whose call is
 * not known. Keys with few letters and digits are skipped: otherwise a person
 * could hide the errors of everyone else by such a key.
 */
export function withoutRecentKeys(thrown: unknown): unknown {
  const keys = [...RECENT_KEYS].filter(([key]) => isLong(key));
  return clean(thrown, searchesFor(keys));
}

/** The maximum number of `httpApi()` whose keys are hidden in results. */
const MAX_SOURCES = 1000;

/** The maximum number of hidden keys of one `httpApi()`. */
const MAX_OWN_KEYS = 100;

/**
 * True for a token that hardly occurs in the texts of other services: it is
 * long, and neither words nor one number. Without this test a token endpoint
 * could hide any word from all callers.
 */
function isRandom(token: string): boolean {
  const { length } = token.replace(/[^A-Za-z0-9]/g, "");
  const parts = token.match(/[A-Z]?[a-z]+|[A-Z]+|\d+/g) ?? [];
  return /^[\w.~+/=-]{16,}$/.test(token) &&
    (length >= 32 || length >= 16 && length / parts.length < 3);
}

/**
 * The number of characters behind a cut that are searched, too, so that a key
 * divided by the cut is found.
 */
const SEARCHED_BEHIND = 50_000;

/** Returns the keys that an author's code received. More can be added. */
export function givenTo(code: { given?: GivenKeys }): GivenKeys {
  return code.given ??= new GivenKeys();
}

/** Returns the name and the password in a Basic key, joined by a colon. */
function pairIn(key: string): string {
  try {
    return key.includes(":") ? key : new TextDecoder().decode(fromBase64(key));
  } catch {
    return key;
  }
}

/** A key of an `httpApi()`. */
interface OwnKey {
  keys: GivenKeys;
  /**
   * The only source whose {@linkcode GivenKeys} hide the key; undefined if all
   * do.
   */
  only?: string;
}

/** Some keys, and the searches for them and the keys of `httpApi()`. */
class KeyRing {
  readonly forms = new Map<string, KeyForms>();
  #searches?: Searches;
  /** The numbers of keys for which the searches were made. */
  #made = "";

  /**
   * Returns the searches, which are made anew when there are more keys.
   * Undefined if there is no key.
   *
   * @param ownKeys changed whenever `own` lists other keys
   */
  searches(ownKeys: number, own: () => KeyRing[]): Searches | undefined {
    const made = `${this.forms.size} ${ownKeys}`;
    if (this.#made !== made) {
      const all = [this, ...own()].flatMap(({ forms }) => [...forms]);
      this.#searches = searchesFor(all);
      this.#made = made;
    }
    return this.#searches;
  }
}

export class GivenKeys {
  readonly #all = new KeyRing();
  readonly #inData = new KeyRing();

  /**
   * The keys by `httpApi()`, so that the keys of one never displace those of
   * another.
   */
  static readonly #sources = new LatestMap<LatestMap<OwnKey>>(MAX_SOURCES);

  /** The number of times that a key of `httpApi()` was hidden. */
  static #ownKeys = 0;

  /**
   * @param source the `httpApi()` whose tokens are hidden even if they are like
   * words
   */
  constructor(private readonly source?: string) {}

  /**
   * Hides a key of `httpApi()` in the results and errors of all calls that have
   * {@linkcode GivenKeys}, because any of them may have read a response that
   * repeats it.
   */
  static hideOwn(source: string, key: string, service = {}): void {
    const keys = new GivenKeys().addSecrets([key], service);
    GivenKeys.#hideOwn(`${source} key`, key, { keys });
  }

  /**
   * Hides a token of `httpApi()` in the same way. But a token that is like a
   * word is hidden only by the {@linkcode GivenKeys} of the source.
   */
  static hideOwnToken(source: string, token: string, seconds: number): void {
    const keys = new GivenKeys().addSecrets([token]);
    const only = isRandom(token) ? undefined : source;
    GivenKeys.#hideOwn(source, token, { keys, only }, seconds);
  }

  static #hideOwn(
    source: string,
    key: string,
    own: OwnKey,
    seconds = Infinity,
  ): void {
    const all = GivenKeys.#sources.get(source) ?? new LatestMap(MAX_OWN_KEYS);
    all.set(key, own, seconds * 1000);
    GivenKeys.#sources.set(source, all);
    GivenKeys.#ownKeys++;
  }

  #own(): GivenKeys[] {
    return GivenKeys.#sources.values().flatMap((it) => it.values())
      .filter(({ only = this.source }) => only === this.source)
      .map(({ keys }) => keys);
  }

  #searches(keys: KeyRing): Searches | undefined {
    const own = () => this.#own().map((it) => it.#inData);
    return keys.searches(GivenKeys.#ownKeys, own);
  }

  /**
   * Adds the key of an account, or an access token for an account. It is hidden
   * in errors and in data.
   */
  add(key: string): void {
    this.addToken(key);
    const forms = this.#all.forms.get(key);
    if (forms) this.#inData.forms.set(key, forms);
  }

  /**
   * Adds a key. If it is sent as Basic credentials (RFC 7617 §2), also adds its
   * password, or its name if the password is empty.
   */
  addFor({ scheme }: { scheme?: string }, key: string): void {
    this.add(key);
    if (scheme !== "Basic") return;
    const pair = pairIn(key);
    this.add(pair);
    const colon = pair.indexOf(":");
    this.add(pair.slice(colon + 1) || pair.slice(0, colon));
  }

  /**
   * Adds secret settings of the server, except short ones, such as test values.
   */
  addSecrets(secrets: readonly unknown[], service = {}): this {
    for (const secret of secrets) {
      if (typeof secret !== "string" || !isLong(secret)) continue;
      this.addFor(service, secret);
    }
    return this;
  }

  /**
   * Adds an access token of the sign-in provider. It is hidden only in errors:
   * an author asks for it explicitly, and may return it.
   */
  addToken(token: string): void {
    if (token.length < MIN_CHARACTERS || this.#all.forms.has(token)) return;
    this.#all.forms.set(token, keyFormsOf(token));
  }

  /** Returns a thrown value, or a copy without keys if it contains one. */
  clean(thrown: unknown): unknown {
    return clean(thrown, this.#searches(this.#all));
  }

  hide(text: string): string {
    return this.#searches(this.#all)?.texts.hide(text) ?? text;
  }

  /**
   * Hides keys in the first `most` characters of a text. The rest is not read,
   * because a search of a service's long response takes long.
   *
   * @param clean called with the part of the text that is read
   */
  hideStart(text: string, most: number, clean = (it: string) => it): string {
    const read = text.slice(0, most + SEARCHED_BEHIND);
    const hidden = this.hide(clean(read));
    // The last characters that were read may be a part of a key, which is not
    // found.
    const whole = hidden.length -
      (read.length < text.length ? SEARCHED_BEHIND : 0);
    return hidden.slice(0, Math.max(0, Math.min(most, whole)));
  }

  /**
   * True if a value is one of the keys that {@linkcode cleanData} replaces.
   *
   * @param isMember true for a member of some data, in which a key that is like
   * a word is none
   */
  isKey(value: unknown, isMember = false): boolean {
    if (typeof value !== "string" || isMember && isLikeWord(value)) {
      return false;
    }
    return [this, ...this.#own()].some((it) => it.#inData.forms.has(value));
  }

  /**
   * Replaces the keys in data. Returns the data itself if it has no keys, or if
   * JSON cannot express it.
   */
  cleanData<T>(value: T): T {
    if (!this.#searches(this.#inData)) return value;
    let text: string | undefined;
    try {
      text = JSON.stringify(value);
    } catch {
      // Such data can be neither sent nor stored.
    }
    if (text === undefined) return value;
    const clean = this.cleanJson(text);
    return clean === text ? value : JSON.parse(clean);
  }

  /** Replaces the keys in the data of a JSON text. */
  cleanJson(text: string): string {
    const keys = this.#searches(this.#inData);
    if (!keys?.texts.isIn(text)) return text;
    return JSON.stringify(cleanMember(JSON.parse(text), keys));
  }
}
