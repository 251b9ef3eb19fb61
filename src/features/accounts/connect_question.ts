/**
 * The question that asks a person to connect an account.
 *
 * @module
 */
import { type ConnectableService, titleOf } from "../../authoring/account.ts";
import { AskedQuestion } from "../../core/protocol/question.ts";
import type { AccountRecord } from "./accounts.ts";
import type { AccountOfCall } from "./begun_account.ts";
import { refusalWords } from "./account_keys.ts";
import { connectAddress, type WaitPages } from "../questions/page_questions.ts";

export interface MissingAccount {
  /** The account's record, if there is one. */
  record?: AccountRecord;
  /** The account that the call began with. */
  begun?: AccountOfCall;
}

/**
 * Makes the question that asks to connect an account or replace a refused key.
 */
export function connectQuestion(
  pages: Pick<WaitPages, "baseUrl">,
  service: ConnectableService,
  { record, begun }: MissingAccount,
): AskedQuestion {
  const url = connectAddress(pages, service.name);
  const { at: _, ...account } = begun ?? {};
  return new AskedQuestion(
    "elicitation/create",
    {
      mode: "url",
      message: wordsFor(service, record, begun?.label),
      url,
      ...begun && { begun: account },
    },
    `connect-${service.name}`,
    new URL(url).origin,
  );
}

/** Asks a model to choose one of several accounts. */
export function choiceOf(
  pages: Pick<WaitPages, "baseUrl">,
  service: ConnectableService,
  names: readonly string[],
): string {
  const listed = names.join(", ");
  return `The person has these accounts at ${titleOf(service)}: ${listed}. ` +
    'Name one of them in the argument "account", or give the person this ' +
    `link to connect another: ${connectAddress(pages, service.name)}`;
}

function wordsFor(
  service: ConnectableService,
  record: AccountRecord | undefined,
  label: string | undefined,
): string {
  const which = label === undefined ? "" : ` ${label}`;
  const words = `Connect your account${which} at ${titleOf(service)}`;
  const refusal = record ? refusalWords(service, record) : "";
  return refusal === "" ? words : `${refusal}${words} again`;
}
