/**
 * The content of an approval: the text for its page, and the arguments as they
 * are stored.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ApprovalOffer, ApprovalShown } from "../../authoring/approval.ts";
import * as kinds from "../../authoring/options.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { ToolError } from "../../authoring/tool.ts";
import { within } from "../../core/clock.ts";
import { fingerprintOfLong } from "../../core/crypto/crypto.ts";
import type { CompiledTool } from "../../core/catalogue/compiled_tool.ts";
import { toolEntry } from "../../core/catalogue/descriptions.ts";
import {
  canonicalJson,
  isPlainObject,
  type JsonObject,
} from "../../core/json.ts";
import { LINKS_META } from "../../core/protocol/not_yet.ts";
import { errorResult } from "../../core/protocol/results.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";
import { approvalTools } from "./approval_tools.ts";
import type { ApprovalPayload, CallApproval } from "./call_approval.ts";
import type { Config } from "../../core/settings/config.ts";
import type { ApprovalState } from "../questions/wait_record.ts";
import { factsOf, lineOf, MAX_TITLE_CHARACTERS } from "./approval_words.ts";

const APPROVAL_SHOWN = {
  title: kinds.required(kinds.TEXT),
  facts: kinds.recordOf(
    kinds.like<string | number>(
      "text or a number",
      (it) => typeof it === "string" || Number.isFinite(it),
    ),
    "an object of texts and numbers by their names",
  ),
} satisfies kinds.Members<ApprovalShown>;

const APPROVAL_OFFER = {
  key: kinds.required(kinds.TEXT),
  label: kinds.required(kinds.TEXT),
  seconds: kinds.required(kinds.numberFrom("60 to 86400 seconds", 60, 86_400)),
} satisfies kinds.Members<ApprovalOffer>;

/** The maximum time that `when` and `show` may take. */
const AUTHOR_MILLISECONDS = 5_000;

/**
 * Returns the properties of a server and its tool on which an approval depends,
 * as text.
 */
export function definitionOf(version: string, tool: CompiledTool): string {
  const { scopes = [], needs = {} } = tool;
  const services = Object.values(needs).map(({ name }) => name);
  return canonicalJson([version, toolEntry(tool), scopes, services]);
}

/**
 * True if the server and its tool still have the definition of which a record
 * has the fingerprint.
 */
export async function hasDefinition(
  server: OpenedServer,
  tool: CompiledTool,
  definition: string,
): Promise<boolean> {
  const { version } = approvalTools.get(server)!.serverInfo;
  return definition === await fingerprintOfLong(definitionOf(version, tool));
}

/**
 * Calls an author's function, and waits for it, with a time limit. It gets a
 * copy of the arguments, so that it cannot change those of the run.
 */
export async function askAuthor<T>(
  tool: string,
  [member, ask]: [name: string, (input: JsonObject) => MaybePromise<T>],
  input: JsonObject,
): Promise<T> {
  const asked = ask(copyOf(input) as JsonObject);
  return await within(AUTHOR_MILLISECONDS, asked, () => {
    const seconds = AUTHOR_MILLISECONDS / 1000;
    const what = `tool ${tool}: approval.${member}`;
    throw new Error(`${what} took longer than ${seconds} seconds`);
  });
}

/**
 * Copies JSON. Anything else that a schema may have made is not copied: a
 * call with it is not approved.
 */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isPlainObject(value)) return value;
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([name, it]) => [name, copyOf(it)]));
}

/**
 * Makes the title and the facts for an approval's page.
 *
 * @throws {TypeError} for an invalid result of `show`
 */
export async function shownOf(
  tool: CompiledTool,
  input: JsonObject,
): Promise<Pick<ApprovalPayload, "title" | "facts">> {
  const { name, approval } = tool;
  const show = approval?.show;
  const shown: ApprovalShown = show
    ? await askAuthor(name, ["show", show], input)
    : { title: tool.title ?? name };
  const path = `tool ${name}: approval.show`;
  const [fault] = kinds.faultsIn(APPROVAL_SHOWN, shown, path);
  if (fault) throw new TypeError(fault);
  const words = {
    title: lineOf(shown.title, MAX_TITLE_CHARACTERS),
    facts: factsOf(shown.facts ?? {}),
  };
  if (words.title !== "") return words;
  throw new TypeError(`${path} gave an empty title`);
}

/**
 * Gets the author's offer to remember the approval of a call. Undefined if its
 * label is too long for the page.
 *
 * @throws {TypeError} for an invalid offer
 */
export async function offerOf(
  { name, approval }: CompiledTool,
  input: JsonObject,
): Promise<ApprovalOffer | undefined> {
  const { remember } = approval ?? {};
  const offer = remember &&
    await askAuthor(name, ["remember", remember], input);
  if (offer === undefined) return undefined;
  const path = `tool ${name}: approval.remember`;
  const [fault] = kinds.faultsIn(APPROVAL_OFFER, offer, path);
  if (fault) throw new TypeError(fault);
  const label = lineOf(offer.label, Infinity);
  if (label === "") throw new TypeError(`${path} gave an empty label`);
  // A label is not cut, because a limit may stand at its end.
  if (label.length > MAX_TITLE_CHARACTERS) return undefined;
  return { ...offer, label };
}

const TOO_LARGE =
  "These arguments have a number that is too large to be kept for an approval. It was not run.";

/**
 * Checks that parsed arguments are JSON, because they are stored until the run
 * begins.
 *
 * @throws {TypeError} if the author's schema is the reason
 * @throws {ToolError} if the client's input is the reason
 */
export function checkJson(
  tool: string,
  value: unknown,
  at = "its input",
): void {
  if (value === null || /^(string|boolean)$/.test(typeof value)) return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  // `JSON.parse` makes `Infinity` of the client's 1e400.
  if (value === Infinity || value === -Infinity) throw new ToolError(TOO_LARGE);
  if (Array.isArray(value)) {
    return value.forEach((it, index) => checkJson(tool, it, `${at}[${index}]`));
  }
  if (isPlainObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (member !== undefined) checkJson(tool, member, `${at}.${name}`);
    }
    return;
  }
  throw new TypeError(
    `tool ${tool}: ${at} is no JSON once its schema has parsed it, so it cannot be kept for an approval: make it what you need in run`,
  );
}

/** Tells the model that no one can approve this caller's calls. */
export const NO_PAGE =
  "This needs the approval of a person on a page of this server, to which this caller cannot sign in. It was not run, and does not wait.";

/** Tells the model that the person declined or cancelled in the client. */
export const CLIENT_DECLINED =
  "This was declined or cancelled in the client, so that no approval of it counts. This call ran nothing: ask for it again only if the person wants it after all.";

/**
 * Explains why no call can be approved at all. Undefined if people can sign in.
 */
export function lacksSignIn({ auth }: Config): string | undefined {
  return auth.oauth
    ? undefined
    : "No one can approve calls, because no one can sign in here. Use AUTH_STRATEGY=oauth, or deno task dev:oauth to try it";
}

/**
 * Returns the text that goes with the link, and until when the link is good. A
 * client that was gone as an earlier run ended learns here that it has ended.
 */
export function askingWords(
  { tool, payload: { title, before }, approval: { scope, closesAt } }:
    CallApproval,
): string {
  const end = new Date(closesAt! * 1000).toISOString();
  const what = `by ${end.slice(0, 10)} ${end.slice(11, 16)} UTC: ${title}`;
  const asks = scope === undefined
    ? `Approve ${what}`
    : `Someone else, who has the permission ${scope}, has to approve ${what}`;
  const { begunAt, outcome } = before ?? {};
  if (begunAt === undefined) return asks;
  return `${begunWords(tool, begunAt)}, and has ended (${outcome}). ${asks}`;
}

/**
 * A run that another call with the same arguments has begun. If `outcome` is
 * undefined, the run may not have ended.
 */
export type UnknownOutcome =
  & { action: "unknown"; begunAt: number; address: string }
  & Pick<ApprovalState, "outcome">;

function begunWords(tool: string, begunAt: number): string {
  const time = new Date(begunAt * 1000).toISOString();
  return `A run of ${tool} with these arguments was approved and began at ${time}`;
}

/**
 * Tells the model that a run has ended, but its result was too long to store.
 */
export function longResult(
  tool: string,
  { begunAt, outcome }: ApprovalState,
): CallToolResult {
  return errorResult(
    `${
      begunWords(tool, begunAt!)
    }. It has ended (${outcome}), and its result was too long to be kept. It was not run again.`,
  );
}

/**
 * Tells the model that another call with the same arguments has begun a run,
 * and how it ended, if known.
 */
export function unknownResult(
  tool: string,
  { begunAt, outcome, address: url }: UnknownOutcome,
): CallToolResult {
  const begun = begunWords(tool, begunAt);
  if (outcome) {
    return errorResult(
      `${begun}. It has ended (${outcome}), and another call like this one got its result. It was not run again.`,
    );
  }
  const message =
    "Say that you have looked whether it happened: only then can it be asked for again";
  return {
    ...errorResult(
      `${begun}. It may still be under way, or its end is not known. It was not run again: look whether it has happened. Show the person this link as it is:\n\n${message}\n${url}`,
    ),
    _meta: { [LINKS_META]: [{ url, message }] },
  };
}

/** Tells the model that a call was cut off before it waited for an approval. */
export const ASKS_IF_CUT =
  "This was not run. Call it again with the same arguments.";

/** Tells the model that a call was cut off while it waited for its approval. */
export function waitsIfCut(link: string): string {
  return `This was not run, and still waits for its approval. Show the person this link as it is. When it is answered, call it again with the same arguments:\n\n${link}`;
}

/** Tells the model that an approved run was cut off. */
export function begunIfCut(address: string): string {
  return `Its approved run had begun, and may have been done. The same is not run again until the person has looked, and says so on this page. Show them its link as it is:\n\n${address}`;
}

/** Tells the model that an approved task could not begin in time. */
export function noTurn(tool: string): string {
  return `This was approved, but its turn among the calls of ${tool} did not come in time. It was not run: ask for it again only if it is still wanted.`;
}

/** Tells the model that a task has ended before its approved run began. */
export const TASK_ENDED = "The task has ended, and nothing was run.";

/** Tells the model of a refusal, which ends a task. */
export function refusedWords(
  { isTask, scope, reason = "", isTakenBack }: {
    isTask: boolean;
    /** The scope of the people who may approve, if the caller may not. */
    scope?: string;
    reason?: string;
    /**
     * True if the caller has refused a call that someone else has to approve.
     */
    isTakenBack?: boolean;
  },
): string {
  const who = isTakenBack
    ? "The person who asked has withdrawn"
    : scope === undefined
    ? "The person refused"
    : `Someone who has the permission ${scope} refused`;
  const why = reason && `, and said: ${JSON.stringify(reason)}`;
  const after = isTask
    ? "This task has ended: begin another only if they want it after all."
    : isTakenBack
    ? "The same call gets this answer until its time is over: only then can it be asked for again."
    : "If they want it after all, they can still approve it on the same page: call it again only then.";
  return `${who} this${why}. It was not run. ${after}`;
}
