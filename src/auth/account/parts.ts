/**
 * The parts of the account page: a row each, of which its navigation and its
 * routes are made.
 *
 * @module
 */
import type { LedgerStore } from "../../store/ledger.ts";
import type { AccountPart } from "./account_part.ts";
import { attemptsPart } from "./attempts_part.ts";
import { callsPart } from "./calls_part.ts";
import { clientsPart } from "./clients_part.ts";
import { connectionsPart } from "./connections_part.ts";
import { dataPart } from "./data_part.ts";
import { durablePart } from "./durable_part.ts";
import { peoplePart } from "./people_part.ts";
import { tokensPart } from "./tokens_part.ts";
import { workPart } from "./work_part.ts";

/** The options of all parts. */
export type PartOptions =
  & Parameters<typeof connectionsPart>[0]
  & Parameters<typeof tokensPart>[0]
  & Omit<Parameters<typeof callsPart>[0], "ledger">
  & Parameters<typeof workPart>[0]
  & Parameters<typeof dataPart>[0]
  & Parameters<typeof peoplePart>[0]
  & Parameters<typeof clientsPart>[0]
  & Parameters<typeof attemptsPart>[0]
  & Parameters<typeof durablePart>[0]
  & {
    /** Absent where no calls are kept. */
    ledger?: LedgerStore;
  };

/** Makes the parts, in the order of the navigation; the first is `/account`. */
export function accountParts(options: PartOptions): AccountPart[] {
  const { ledger } = options;
  return [
    connectionsPart(options),
    tokensPart(options),
    ...ledger ? [callsPart({ ...options, ledger })] : [],
    workPart(options),
    dataPart(options),
    peoplePart(options),
    clientsPart(options),
    attemptsPart(options),
    durablePart(options),
  ];
}
