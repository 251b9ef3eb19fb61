/**
 * Questions of a server, answered by the person at the terminal.
 *
 * @module
 * @see MCP 2026-07-28, elicitation
 */
import { Client, type Json, type Question } from "../client/mod.ts";
import { convert, quotedLine } from "./arguments.ts";
import { Exit, Failure, usageFailure } from "./failure.ts";
import {
  choicesOf,
  describeSchema,
  propertiesOf,
  requiredOf,
} from "./schema.ts";
import type { Terminal } from "./terminal.ts";

/** The capabilities of a client that answers questions here. */
export const CAPABILITIES: Json = {
  elicitation: { form: {}, url: {} },
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

/**
 * The part of a terminal that asks for lines. `ask` throws {@linkcode Failure}
 * if there are no more.
 */
interface Asking {
  ask(words: string, signal: AbortSignal): Promise<string>;
  report(text: string): void;
}

/** A question that a page keeps also once its call has ended. */
const PAGE_STAYS =
  "Its page may still be answered: the same command then goes on. Refuse there what is not wanted";

/**
 * Answers a question, unless it is answered elsewhere first. If standard input
 * has no more lines, the question of a task stays open.
 *
 * @throws {Failure} if there are no more lines
 * @throws {Error} for a kind that this command cannot answer
 */
export async function answer(
  question: Question,
  { ask, report }: Pick<Terminal, "ask" | "report">,
  interruption: AbortSignal,
  taskId?: string,
): Promise<Json> {
  const staysOpen = taskId === undefined && question.params.mode === "url";
  const terminal: Asking = {
    report,
    async ask(words, signal) {
      const line = await ask(words, signal);
      if (line !== undefined) return line;
      throw new Failure(
        "There are no more lines to answer with. " +
          (taskId === undefined
            ? "The call has ended without an answer" +
              (staysOpen ? `. ${PAGE_STAYS}` : "")
            : "The question stays open: answer it with --task " + taskId +
              ", or where the server shows it, as at /account/work"),
        Exit.unanswered,
      );
    },
  };
  const { signal } = question;
  const either = signal
    ? AbortSignal.any([interruption, signal])
    : interruption;
  try {
    return await answerHere(question, terminal, either);
  } catch (error) {
    if (interruption.aborted) {
      if (staysOpen) report(`\n${PAGE_STAYS}.`);
    } else if (signal?.aborted) {
      const isAnswered = signal.reason?.message === Client.ANSWERED;
      terminal.report(isAnswered ? "\nAnswered on the page." : "");
    }
    throw error;
  }
}

async function answerHere(
  { method, params }: Question,
  terminal: Asking,
  signal: AbortSignal,
): Promise<Json> {
  if (method !== "elicitation/create") {
    throw new Error(`The server asks ${method}: nothing answers that here`);
  }
  terminal.report(`\nThe server asks: ${params.message ?? ""}`);
  return params.mode === "url"
    ? await visit(params, terminal, signal)
    : await fillIn((params.requestedSchema ?? {}) as Json, terminal, signal);
}

const DONE = "Press Enter once it is done there, or type no to decline:";
const CONSENT = "Press Enter to agree, or type no to decline:";

/** Shows the person a URL to open. */
async function visit(
  { url }: Json,
  terminal: Asking,
  signal: AbortSignal,
): Promise<Json> {
  const target = URL.parse(`${url}`);
  if (!target || !/^https?:$/.test(target.protocol)) {
    throw new Error(`The server wants ${url} opened, which is no page`);
  }
  terminal.report(`It is to be done at ${target.host}:\n${target.href}`);
  return await consent(DONE, terminal, signal);
}

/** Asks the person to press Enter, or to type `no`, `/decline` or `/cancel`. */
async function consent(
  words: string,
  terminal: Asking,
  signal: AbortSignal,
): Promise<Json> {
  const line = (await terminal.ask(words, signal)).trim();
  if (line === "/cancel") return { action: "cancel" };
  return /^(no?|\/decline)$/i.test(line)
    ? { action: "decline" }
    : { action: "accept" };
}

async function fillIn(
  schema: Json,
  terminal: Asking,
  signal: AbortSignal,
): Promise<Json> {
  const fields = Object.entries(propertiesOf(schema));
  if (fields.length === 0) {
    const consented = await consent(CONSENT, terminal, signal);
    return consented.action === "accept"
      ? { ...consented, content: {} }
      : consented;
  }
  terminal.report("(/decline and /cancel end it.)");
  const content: Json = {};
  for (const [name, field] of fields) {
    const isRequired = requiredOf(schema).includes(name);
    const value = await askFor(name, field, isRequired, terminal, signal);
    if (value === "decline" || value === "cancel") return { action: value };
    if (value !== undefined) content[name] = value.value;
  }
  return { action: "accept", content };
}

/** Asks for one field until the answer is valid. */
async function askFor(
  name: string,
  field: Json,
  isRequired: boolean,
  terminal: Asking,
  signal: AbortSignal,
): Promise<{ value: unknown } | undefined | "decline" | "cancel"> {
  const { title, description, default: usual } = field;
  const words = [
    `${title ?? name}`,
    description === undefined ? "" : `, ${description}`,
    ` (${
      isYesOrNo(field) ? YES_OR_NO : describeSchema(field) + boundsOf(field)
    }`,
    usual !== undefined
      ? `, ${shownUsual(usual, field)} if left out`
      : isRequired
      ? ""
      : ", may be left out",
    "):",
  ];
  for (;;) {
    const line = await terminal.ask(words.join(""), signal);
    if (line === "/decline") return "decline";
    if (line === "/cancel") return "cancel";
    if (line === "" && usual !== undefined) return { value: usual };
    if (line === "" && !isRequired) return undefined;
    try {
      const value = read(name, line, field);
      if (isOnly(!value, field)) return isRequired ? "decline" : undefined;
      return { value: checked(name, value, field) };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      terminal.report(error.message);
    }
  }
}

const YES_OR_NO = "yes or no";

function isYesOrNo(field: Json): boolean {
  return field.type === "boolean" || isOnly(true, field) ||
    isOnly(false, field);
}

/** True if a field accepts only this value, as `z.literal(true)` does. */
function isOnly(value: boolean, field: Json): boolean {
  const choices = choicesOf(field);
  return choices?.length === 1 && choices[0].value === value;
}

function shownUsual(usual: unknown, field: Json): string {
  if (isYesOrNo(field)) return usual ? "yes" : "no";
  return JSON.stringify(usual);
}

/** Formats the bounds of a number: ` from 1 to 5`. */
function boundsOf({ type, minimum, maximum }: Json): string {
  if (type !== "integer" && type !== "number") return "";
  // Integer schemas often have the bounds of safe integers, which say nothing.
  const isBound = (it: unknown) =>
    typeof it === "number" && Math.abs(it) < Number.MAX_SAFE_INTEGER;
  if (isBound(minimum) && isBound(maximum)) {
    return ` from ${minimum} to ${maximum}`;
  }
  if (isBound(minimum)) return ` of at least ${minimum}`;
  return isBound(maximum) ? ` of at most ${maximum}` : "";
}

/** Reads the answer to one field. @throws {Failure} */
function read(name: string, line: string, field: Json): unknown {
  if (!isYesOrNo(field)) return convert(name, line, field);
  if (/^(y|yes|true)$/i.test(line.trim())) return true;
  if (/^(n|no|false)$/i.test(line.trim())) return false;
  throw usageFailure(`${name}: got ${quotedLine(line)}, wants ${YES_OR_NO}`);
}

/** Checks the bounds that forms may have. @throws {Failure} */
function checked(name: string, value: unknown, field: Json): unknown {
  const size = typeof value === "string" || Array.isArray(value)
    ? value.length
    : Number(value);
  const [least, most, unit] = typeof value === "string"
    ? [field.minLength, field.maxLength, " characters"]
    : Array.isArray(value)
    ? [field.minItems, field.maxItems, " items"]
    : [field.minimum, field.maximum, ""];
  const wants = (bound: string) =>
    usageFailure(`${name}: got ${size}${unit}, wants ${bound}`);
  if (typeof least === "number" && size < least) {
    throw wants(`at least ${least}`);
  }
  if (typeof most === "number" && size > most) throw wants(`at most ${most}`);
  return value;
}
