/**
 * `GET /account/data`: what is kept about a person, for them to download and to
 * erase.
 *
 * @module
 */
import { DataSection } from "../../pages/data_section.tsx";
import type { AccountPart } from "./account_part.ts";
import { isRecent } from "./signed_in.ts";

/** Makes the part. */
export function dataPart(
  { providerName, config: { ledgerDays } }: {
    providerName: string;
    config: { ledgerDays: number };
  },
): AccountPart {
  return {
    name: "data",
    label: "Your data",
    title: "Your data",
    leadsAway: true,
    show: ({ session, form, now }) =>
      Promise.resolve(DataSection({
        ...form,
        providerName,
        isRecent: isRecent(session, now),
        ledgerDays: ledgerDays > 0 ? ledgerDays : undefined,
      })),
  };
}
