/**
 * `completion/complete`: values for an argument of a prompt or a variable of a
 * resource template.
 * @module
 * @see MCP 2026-07-28, Completion
 */
import type { Prompt } from "../../../authoring/prompt.ts";
import type { Complete, CompleteContext } from "../../../authoring/resource.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import { ToolError } from "../../../authoring/tool.ts";
import { ChallengeError } from "../../errors.ts";
import type { Answer } from "../exchange/answer.ts";
import type { Call } from "../exchange/call.ts";
import { callWithNeeds } from "../exchange/needs.ts";
import { CallContext } from "../exchange/call_context.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { invalidParams, quoted } from "../../protocol/messages.ts";
import { isObject, type JsonObject } from "../../json.ts";

const MAX_VALUES = 100;

export async function complete(call: Call): Promise<Answer> {
  const { catalogue, params, printedLists: { printer }, context } = call;
  // During a completion the client gets no question and no progress.
  for (const name of ["progress", "ask", "sample", "roots"]) {
    Object.defineProperty(context, name, { value: undefined });
  }
  return await CallContext.andThen(
    context,
    completionValues(
      catalogue,
      params,
      context,
      (item, known, propose) => proposeWithin(call, item, known, propose),
    ),
    (completion) => ({ result: printer.result({ completion }) }),
  );
}

/** The prompt or resource template whose argument is completed. */
type Completed = Pick<Prompt, "name" | "needs">;

type Propose = () => MaybePromise<readonly string[]>;

/**
 * Gives the context the accounts that an item needs, then calls `propose`.
 * Returns no values if an account is missing, because a completion cannot ask
 * to connect it.
 */
async function proposeWithin(
  call: Call,
  item: Completed,
  known: JsonObject,
  propose: Propose,
): Promise<readonly string[]> {
  try {
    return await callWithNeeds(call, item, known, "look", propose);
  } catch (error) {
    const isLacking = error instanceof ToolError ||
      error instanceof ChallengeError;
    if (item.needs && isLacking) return [];
    throw error;
  }
}

/**
 * Finds values for the argument that a request names; none for an argument that
 * does not exist.
 * @throws {RpcError} -32602 for a reference to an unknown prompt or resource
 */
export async function completionValues(
  catalogue: Catalogue,
  { ref, argument, context: given }: JsonObject,
  context: CompleteContext,
  within: (
    item: Completed,
    known: JsonObject,
    propose: Propose,
  ) => MaybePromise<readonly string[]> = (_item, _known, propose) => propose(),
): Promise<{ values: string[]; total: number; hasMore: boolean }> {
  const { name, value } = isObject(argument) ? argument : {};
  if (typeof name !== "string" || typeof value !== "string") {
    throw invalidParams(
      "argument must have a name and a value, both strings, not " +
        (isObject(argument)
          ? `${quoted(name)} and ${quoted(value)}`
          : quoted(argument)),
    );
  }
  const { item, names, complete } = findReference(catalogue, ref);
  const propose = names.includes(name) ? complete?.[name] : undefined;
  const known = knownArguments(given);
  const proposed = propose
    ? await within(item, known, () => propose(value, known, context))
    : [];
  return {
    values: proposed.slice(0, MAX_VALUES),
    total: proposed.length,
    hasMore: proposed.length > MAX_VALUES,
  };
}

function findReference(
  { prompts, templates, resources }: Catalogue,
  ref: unknown,
): {
  item: Completed;
  names: readonly string[];
  complete?: Readonly<Record<string, Complete | undefined>>;
} {
  if (isObject(ref) && ref.type === "ref/prompt") {
    const prompt = prompts.get(ref.name as string);
    if (!prompt) throw invalidParams(`Unknown prompt: ${quoted(ref.name)}`);
    return {
      item: prompt,
      names: Object.keys(prompt.args?.shape ?? {}),
      complete: prompt.complete,
    };
  }
  if (isObject(ref) && ref.type === "ref/resource") {
    const found = templates.find(({ resource }) => resource.uri === ref.uri);
    if (found) {
      return {
        item: found.resource,
        names: found.template.variables,
        complete: found.resource.complete,
      };
    }
    const resource = resources.get(ref.uri as string);
    if (resource) return { item: resource, names: [] };
    throw invalidParams(`Unknown resource: ${quoted(ref.uri)}`);
  }
  throw invalidParams(
    "ref must be a ref/prompt or a ref/resource, not " +
      quoted(isObject(ref) ? ref.type : ref),
  );
}

function knownArguments(context: unknown): Record<string, string> {
  const known = isObject(context) && isObject(context.arguments)
    ? Object.entries(context.arguments)
    : [];
  return Object.fromEntries(
    known.filter((entry): entry is [string, string] =>
      typeof entry[1] === "string"
    ),
  );
}
