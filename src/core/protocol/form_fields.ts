/**
 * Parses the fields of a form from its schema, for a page; and makes the
 * content from what the person entered.
 *
 * @module
 * @see MCP 2026-07-28, Elicitation, Requested Schema
 */
import { isObject, type JsonObject } from "../json.ts";
import { type TextBounds, textFault } from "./text_format.ts";

/** An option that a person may choose. */
interface FormOption {
  value: string;
  title: string;
}

/** The kind of input that a field takes. */
type FormEntry =
  | { kind: "text" } & TextBounds
  | { kind: "number"; isInteger: boolean; minimum?: number; maximum?: number }
  | { kind: "box" }
  | { kind: "one"; options: readonly FormOption[] }
  | {
    kind: "some";
    options: readonly FormOption[];
    minItems?: number;
    maxItems?: number;
  };

export type FormField = FormEntry & {
  /** The name of the field's property. */
  name: string;
  title: string;
  description?: string;
  isRequired: boolean;
  default?: unknown;
  /**
   * The name of the input in the HTML form. It contains no text of the author.
   */
  entry: string;
};

/** Input that does not fit its field. The message says what fits. */
export class FormEntryError extends Error {
  override name = "FormEntryError";
  constructor(readonly title: string, message: string) {
    super(message);
  }
}

/**
 * Parses the fields of a form. Undefined if the specification does not know a
 * field: perhaps the client can show it.
 */
export function parseFormFields(schema: unknown): FormField[] | undefined {
  if (!isObject(schema)) return undefined;
  const { properties = {}, required } = schema;
  if (!isObject(properties)) return undefined;
  const fields = Object.entries(properties).map(([name, property], index) => {
    const entry = isObject(property) ? entryOf(property) : undefined;
    if (!entry || !isObject(property)) return undefined;
    const { title, description } = property;
    return {
      ...entry,
      name,
      title: textOf(title) ?? name,
      description: textOf(description),
      isRequired: Array.isArray(required) && required.includes(name),
      default: property.default,
      entry: `field.${index}`,
    };
  });
  return fields.every((field) => field !== undefined) ? fields : undefined;
}

function entryOf(property: JsonObject): FormEntry | undefined {
  const { type, items } = property;
  switch (type) {
    case "boolean":
      return { kind: "box" };
    case "number":
    case "integer":
      return {
        kind: "number",
        isInteger: type === "integer",
        minimum: numberOf(property.minimum),
        maximum: numberOf(property.maximum),
      };
    case "string": {
      const options = optionsOf(property);
      if (options) return { kind: "one", options };
      return {
        kind: "text",
        format: textOf(property.format),
        minLength: numberOf(property.minLength),
        maxLength: numberOf(property.maxLength),
      };
    }
    case "array": {
      const options = isObject(items) ? optionsOf(items) : undefined;
      return options && {
        kind: "some",
        options,
        minItems: numberOf(property.minItems),
        maxItems: numberOf(property.maxItems),
      };
    }
  }
}

/** Returns the options of an enumeration; undefined if the field is not one. */
function optionsOf(
  { enum: values, enumNames, oneOf, anyOf = oneOf }: JsonObject,
): FormOption[] | undefined {
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, index) => ({
      value: String(value),
      title: textOf(names[index]) ?? String(value),
    }));
  }
  if (!Array.isArray(anyOf) || !anyOf.every(isObject)) return undefined;
  return anyOf.map(({ const: value, title }) => ({
    value: String(value),
    title: textOf(title) ?? String(value),
  }));
}

/**
 * Makes the content of a form.
 *
 * @param entryOf returns the input with a name; undefined if it is missing
 * @throws {FormEntryError} for input that does not fit
 */
export function contentOfForm(
  fields: readonly FormField[],
  entryOf: (name: string) => string | undefined,
): JsonObject {
  const content = fields.map((field) =>
    [field.name, valueOf(field, entryOf)] as const
  );
  return Object.fromEntries(content.filter(([, value]) => value !== undefined));
}

/**
 * Returns the name of one option's checkbox in a field with several options.
 */
export function checkboxName({ entry }: FormField, index: number): string {
  return `${entry}.${index}`;
}

function valueOf(
  field: FormField,
  entryOf: (name: string) => string | undefined,
): unknown {
  if (field.kind === "box") return entryOf(field.entry) !== undefined;
  if (field.kind === "some") {
    const isChosen = (_: FormOption, index: number) =>
      entryOf(checkboxName(field, index)) !== undefined;
    return choiceOf(field, field.options.filter(isChosen));
  }
  const entry = entryOf(field.entry);
  if (entry === undefined) {
    if (field.isRequired) throw new FormEntryError(field.title, "is missing");
    return undefined;
  }
  return field.kind === "one"
    ? optionOf(field, entry).value
    : parseEntry(field, entry);
}

type FieldOf<Kind> = Extract<FormField, { kind: Kind }>;

function choiceOf(
  { title, isRequired, minItems = 0, maxItems = Infinity }: FieldOf<"some">,
  chosen: readonly FormOption[],
): string[] | undefined {
  const { length } = chosen;
  if (length === 0 && !isRequired) return undefined;
  if (length < minItems) {
    throw new FormEntryError(title, `needs at least ${minItems} of its boxes`);
  }
  if (length > maxItems) {
    throw new FormEntryError(title, `takes at most ${maxItems} of its boxes`);
  }
  return chosen.map(({ value }) => value);
}

function optionOf(
  { title, options }: FieldOf<"one">,
  entry: string,
): FormOption {
  const option = options.at(/^\d+$/.test(entry) ? Number(entry) : Infinity);
  if (option) return option;
  throw new FormEntryError(title, "must be one of its options");
}

function parseEntry(
  field: FieldOf<"text" | "number">,
  entry: string,
): string | number {
  const { title } = field;
  if (field.kind === "number") return parseNumber(field, entry);
  // HTML forms send line breaks as CRLF.
  const text = entry.replaceAll("\r\n", "\n");
  const fault = textFault(text, field);
  if (fault !== undefined) throw new FormEntryError(title, fault);
  return text;
}

function parseNumber(
  { title, isInteger, minimum = -Infinity, maximum = Infinity }: FieldOf<
    "number"
  >,
  entry: string,
): number {
  const value = Number(entry);
  if (!Number.isFinite(value)) {
    throw new FormEntryError(title, "must be a number");
  }
  if (isInteger && !Number.isInteger(value)) {
    throw new FormEntryError(title, "must be a whole number");
  }
  if (value < minimum) {
    throw new FormEntryError(title, `must be at least ${minimum}`);
  }
  if (value > maximum) {
    throw new FormEntryError(title, `must be at most ${maximum}`);
  }
  return value;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
