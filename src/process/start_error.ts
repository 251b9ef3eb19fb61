/**
 * The error of a failed start.
 *
 * @module
 */
import { type Complaint, printComplaint } from "../settings/complaint.ts";

/** A start that failed because of a setting, which the operator can fix. */
export class StartError extends Error {
  override name = "StartError";
  /** Tells the complaint in one line. */
  constructor(complaint: Complaint) {
    super(printComplaint(complaint));
  }
}
