/**
 * The settings that authors declare, as rows of the table.
 *
 * @module
 */
import type * as z from "zod";
import { describe, isSecret } from "../authoring/setting.ts";
import { sentence } from "./complaint.ts";
import type { NamedSetting } from "./setting.ts";
import { ShapeError } from "./shapes.ts";
import { SETTINGS } from "./table.ts";

export interface OwnSetting extends NamedSetting {
  /** True if it must be set. */
  isRequired: boolean;
}

export function ownSetting(name: string, schema: z.ZodType): OwnSetting {
  const secret = isSecret(schema) ||
    SETTINGS.some((setting) => setting.name === name && setting.secret);
  const words = describe(schema)?.trim();
  const parse = (text?: string) => {
    const { success, data, error } = schema.safeParse(text);
    if (success) return data;
    throw new ShapeError(detailOf(error, secret ? text : undefined));
  };
  const wants = words
    ? `a value for "${words.replace(/\.+$/, "")}"`
    : "a value that its schema accepts";
  const row = {
    name,
    words: words ? sentence(words) : "",
    shape: { wants, parse },
    secret,
  };
  try {
    return { ...row, default: parse(), isRequired: false };
  } catch {
    return { ...row, isRequired: true };
  }
}

/** Prints Zod's messages, without those that repeat a part of a secret. */
function detailOf({ issues }: z.ZodError, secret?: string): string {
  return issues
    .map(({ message }) => message.replace(/^Invalid (input|option): /, ""))
    .filter((message) => secret === undefined || !repeats(message, secret))
    .map((message) => message.replace(/\.+$/, ""))
    .join("; ");
}

/** True if a message holds four characters of a secret, or all of a shorter one. */
function repeats(message: string, secret: string): boolean {
  const length = Math.min(4, secret.length);
  for (let at = 0; at + length <= secret.length; at++) {
    if (message.includes(secret.slice(at, at + length))) return true;
  }
  return false;
}
