/**
 * The records about people that approvals store.
 *
 * @module
 */
import type { PersonRecords } from "../../core/auth/grants/end_grant.ts";
import type { Database } from "../../core/kv/database.ts";
import { passkeyRecords } from "./passkey_store.ts";
import { receiptStore } from "./receipts.ts";
import { rememberedStore } from "./remembered.ts";

export function approvalRecords(database: Database): PersonRecords[] {
  return [
    rememberedStore(database).records,
    passkeyRecords(database),
    receiptStore(database, 0).records,
  ];
}
