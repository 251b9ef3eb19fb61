/** @jsxImportSource @hono/hono/jsx */
/**
 * The fields of a question's form, each as the input element that suits it.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import {
  checkboxName,
  type FormField,
} from "../../core/protocol/form_fields.ts";
import { DATE_TIME } from "../../core/protocol/text_format.ts";
import { shownMessage } from "../../core/pages/names.tsx";

/** The maximum length in characters of a field's title, and of a choice. */
const MAX_TITLE_CHARACTERS = 200;
/** The maximum length in characters of a field's description. */
const MAX_DESCRIPTION_CHARACTERS = 500;
/** The maximum length in characters of a text that gets a one-line field. */
const MAX_LINE_CHARACTERS = 200;

/** The author's text, which may contain untrusted text. */
function Said({ children }: { children: string }) {
  return <bdi>{shownMessage(children, MAX_TITLE_CHARACTERS)}</bdi>;
}

function Description({ of }: { of: FormField }) {
  if (!of.description) return null;
  return (
    <span class="small soft block">
      <bdi>{shownMessage(of.description, MAX_DESCRIPTION_CHARACTERS)}</bdi>
    </span>
  );
}

/** A checkbox with its label. */
function Box(
  { name, isTicked, children }: {
    name: string;
    isTicked: boolean;
    children: Child;
  },
) {
  return (
    <label class="tick">
      <input type="checkbox" name={name} value="on" checked={isTicked} />{" "}
      <span>{children}</span>
    </label>
  );
}

export function Field({ field }: { field: FormField }) {
  const { title, entry, isRequired } = field;
  if (field.kind === "box") {
    return (
      <Box name={entry} isTicked={field.default === true}>
        <Said>{title}</Said>
        <Description of={field} />
      </Box>
    );
  }
  if (field.kind === "some") {
    const chosen = Array.isArray(field.default) ? field.default : [];
    return (
      <fieldset>
        <legend>
          <Said>{title}</Said>
        </legend>
        <Description of={field} />
        {field.options.map(({ value, title }, index) => (
          <Box
            name={checkboxName(field, index)}
            isTicked={chosen.includes(value)}
          >
            <Said>{title}</Said>
          </Box>
        ))}
      </fieldset>
    );
  }
  return (
    <label>
      <Said>{title}</Said>
      {!isRequired && <span class="small soft">&nbsp;(may stay empty)</span>}
      <Description of={field} />
      <Entry field={field} />
    </label>
  );
}

/** The input types of browsers for formats of JSON Schema. */
const TYPES: Readonly<Record<string, string>> = {
  email: "email",
  uri: "url",
  date: "date",
};

function Entry(
  { field }: {
    field: Extract<FormField, { kind: "text" | "number" | "one" }>;
  },
) {
  const { entry: name, isRequired: required } = field;
  if (field.kind === "one") {
    return (
      <select name={name} required={required}>
        <option value=""></option>
        {field.options.map(({ value, title }, index) => (
          <option value={index} selected={value === field.default}>
            {shownMessage(title, MAX_TITLE_CHARACTERS)}
          </option>
        ))}
      </select>
    );
  }
  // The value is sent as it is shown.
  const value = field.default === undefined
    ? undefined
    : shownMessage(String(field.default), Infinity);
  if (field.kind === "number") {
    const { minimum, maximum, isInteger } = field;
    return (
      <input
        type="number"
        name={name}
        value={value}
        min={minimum}
        max={maximum}
        step={isInteger ? 1 : "any"}
        required={required}
      />
    );
  }
  const { format = "", minLength: minlength, maxLength: maxlength } = field;
  const length = { minlength, maxlength, required };
  if (maxlength !== undefined && maxlength > MAX_LINE_CHARACTERS) {
    return <textarea name={name} rows={4} {...length}>{value}</textarea>;
  }
  const isMoment = format === "date-time";
  return (
    <>
      {isMoment && (
        <span class="small soft block">Such as 2026-11-26T14:00:00Z</span>
      )}
      <input
        type={Object.hasOwn(TYPES, format) ? TYPES[format] : "text"}
        name={name}
        value={value}
        pattern={isMoment ? DATE_TIME.source.slice(1, -1) : undefined}
        {...length}
      />
    </>
  );
}
