/**
 * Settings that a tool, a resource, a prompt or a service needs: variables of
 * the environment, declared where they are used.
 *
 * @module
 */
import type * as z from "zod";
import * as kinds from "./options.ts";

/**
 * Settings by the name of their variable. Each is a Zod schema for the
 * variable's text: `z.string()`, `z.coerce.number()`, `z.stringbool()`,
 * `z.url()`. With `.default()` or `.optional()` it may be unset; its
 * `.describe()` is used in error messages and `.env.example`.
 */
export type SettingSchemas = Readonly<Record<string, z.ZodType>>;

/** The parsed values of {@linkcode SettingSchemas}. */
export type SettingValues<S extends SettingSchemas> = {
  readonly [Name in keyof S]: z.output<S[Name]>;
};

/**
 * Marks a setting as secret: its value never appears in a complaint, and is
 * hidden in whatever is returned or thrown by code that declares it.
 *
 * @example
 * ```ts
 * import { secret, z } from "@tool-server/tool-server";
 *
 * const settings = {
 *   WEATHER_KEY: secret(z.string().min(20).describe("Key of the weather API")),
 * };
 * ```
 */
export function secret<T extends z.ZodType>(schema: T): T {
  // A value that is no schema is reported at the start, as an error in its
  // definition.
  if (!kinds.isSchema(schema)) return schema;
  return schema.meta({ ...schema.meta(), secret: true }) as T;
}

/** True if {@linkcode secret} marked the setting, or a schema inside it. */
export function isSecret(schema: z.ZodType): boolean {
  return schema.meta()?.secret === true || wrapped(schema).some(isSecret);
}

/** Finds the description of a setting, or of a schema inside it. */
export function describe(schema: z.ZodType): string | undefined {
  return schema.description ??
    wrapped(schema).map(describe).find((words) => words !== undefined);
}

/**
 * Lists the schemas in `.optional()`, `.default()`, `.pipe()`, `.or()` and so
 * on.
 */
function wrapped(schema: z.ZodType): z.ZodType[] {
  const { innerType, in: input, out, options = [] } = schema.def as {
    innerType?: z.ZodType;
    in?: z.ZodType;
    out?: z.ZodType;
    options?: readonly z.ZodType[];
  };
  return [innerType, input, out, ...options].filter((it) => it !== undefined);
}

export const OWN_SETTINGS: kinds.Kind<SettingSchemas> = kinds.recordOf(
  kinds.SCHEMA,
  "an object with a Zod 4 schema for each setting",
);
