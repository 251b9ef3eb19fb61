/**
 * A pasted key: its format, and the check by its service.
 *
 * @module
 */
import {
  type ConnectableService,
  type PersonalKey,
  titleOf,
} from "../../authoring/account.ts";
import { ToolError } from "../../authoring/tool.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import { checkAccount } from "./account_check.ts";
import { isObject } from "../../core/json.ts";
import type { Logger } from "../../core/log/log.ts";
import { GivenKeys } from "../../core/mcp/exchange/given_keys.ts";
import { withoutHidden } from "../../core/pages/names.tsx";
import { errorNameOf, stackFramesOf } from "../../core/thrown.ts";

const MAX_KEY_CHARACTERS = 4096;

/** The maximum length of an account's name, in characters. */
const MAX_LABEL_CHARACTERS = 80;

/** The refusal to store a key, with a message for the person. */
export class KeyRefusal extends Error {
  /** @param answered the HTTP status of the service */
  constructor(message: string, readonly answered?: number) {
    super(message);
  }
}

/**
 * Parses a pasted key. Removes the authentication scheme that many services
 * show in front of it.
 *
 * @throws {KeyRefusal}
 */
export function parseKey(
  { shape, title, scheme = "Bearer" }: PersonalKey,
  text: string,
): string {
  const word = new RegExp(
    `^(authorization: *)?${RegExp.escape(scheme)} +`,
    "i",
  );
  const key = text.trim().replace(word, "");
  if (key === "") throw new KeyRefusal("Paste the key first.");
  if (key.length > MAX_KEY_CHARACTERS) {
    throw new KeyRefusal(
      `This has ${key.length} characters, more than a key has.`,
    );
  }
  if (/[^\x21-\x7e]/.test(key)) {
    throw new KeyRefusal(
      "A key is one line of letters, digits and signs, without a space. Copy " +
        "the key alone.",
    );
  }
  if (shape && key.search(shape) < 0) {
    throw new KeyRefusal(`This does not look like a key of ${title}.`);
  }
  return key;
}

/** Parses the account name that a person typed. @throws {KeyRefusal} */
export function parseLabel(text: string, key: string): string {
  const isLong = text.length > 10 * MAX_LABEL_CHARACTERS;
  const label = isLong ? "" : cleanName(text, key);
  if (label === "" || label.length > MAX_LABEL_CHARACTERS) {
    throw new KeyRefusal(
      `Name the account, in at most ${MAX_LABEL_CHARACTERS} characters.`,
    );
  }
  return label;
}

/**
 * Removes hidden characters from a name.
 *
 * @throws {KeyRefusal} if it contains the key
 */
function cleanName(text: string, key: string): string {
  const name = withoutHidden(text);
  if (given(key).hide(name) !== name) {
    throw new KeyRefusal("The name of the account must not hold the key.");
  }
  return name;
}

/** Makes the filter that removes a key from texts. */
function given(key: string): GivenKeys {
  const keys = new GivenKeys();
  keys.add(key);
  return keys;
}

/** Cleans the account name that a service's check returned, if any. */
export function nameTold(told: unknown, key: string): string | undefined {
  return typeof told === "string"
    ? shortened(cleanName(told, key)) || undefined
    : undefined;
}

export interface DescribedAccount {
  /** The fingerprint of the account's ID at the service. */
  id?: string;
  label?: string;
}

/**
 * Cleans a service's description of an account.
 *
 * @throws {KeyRefusal} if its name contains the key
 */
export function describeAccount(told: unknown, key: string): DescribedAccount {
  const { id, label = told } = isObject(told) ? told : {} as DescribedAccount;
  const name = nameTold(label, key);
  return {
    ...typeof id === "string" && id !== "" && { id: fingerprint(id) },
    ...name !== undefined && { label: name },
  };
}

/**
 * Checks a key at its service, and returns the service's description of the
 * account.
 *
 * @throws {KeyRefusal} unless the service accepts the key
 */
export async function checkKey(
  service: ConnectableService,
  key: string,
  log: Logger,
): Promise<DescribedAccount> {
  if (!service.check) return {};
  const title = titleOf(service);
  try {
    const answer = await checkAccount(service, key);
    if (!answer) throw new KeyRefusal(`${title} did not answer. Try again.`);
    const { told } = answer;
    if (!(told instanceof Response)) return describeAccount(told, key);
    checkStatus(told, title);
    return {};
  } catch (error) {
    if (error instanceof KeyRefusal) throw error;
    const clean = given(key).clean(error);
    if (clean instanceof ToolError) throw new KeyRefusal(clean.message);
    log.warning("A key could not be checked", {
      service: service.name,
      // Without the message, which may quote a response that has the key.
      error: `${errorNameOf(clean) ?? "An exception"}${stackFramesOf(clean)}`,
    });
    throw new KeyRefusal(`${title} gave no answer that says if it takes it.`);
  }
}

/** Shortens a long account name. Different names stay different. */
function shortened(name: string): string {
  if (name.length <= MAX_LABEL_CHARACTERS) return name;
  const beginning = [...name].slice(0, MAX_LABEL_CHARACTERS / 2 - 10).join("");
  return `${beginning}… ${fingerprint(name).slice(0, 8)}`;
}

function checkStatus({ ok, status }: Response, title: string): void {
  if (ok) return;
  throw new KeyRefusal(
    status === 429 || status >= 500
      ? `${title} cannot say now if it takes this key (${status}). Try again later.`
      : `${title} does not take this key (${status}).`,
    status,
  );
}
