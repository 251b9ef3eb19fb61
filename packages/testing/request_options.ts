/**
 * The options of a test's request, and the messages it receives while it runs.
 *
 * @module
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import type { TestAnswers } from "./answers.ts";
import type { ProviderApi } from "./provider_api.ts";

/** The generations of the protocol that a test can speak. */
export type TestRevision = "2025-11-25" | "2026-07-28";

/** A progress message of a tool. */
export interface Progress {
  /** The amount done. */
  progress: number;
  /** The amount to do in all. */
  total?: number;
  /** The same in words. */
  message?: string;
}

/** A message that a tool logged for its client. */
export interface LogMessage {
  /** Its severity. */
  level: LoggingLevel;
  /** The data that the tool logged. */
  data: unknown;
  /** The part of the tool that logged it. */
  logger?: string;
}

/** The options of a request. All optional. */
export interface RequestOptions {
  /** Answers to the tool's questions; a question without one fails the test. */
  answers?: TestAnswers;
  /** The provider's API behind the caller; without it there is none. */
  upstream?: ProviderApi;
  /** Cancels the request as a client does; it then rejects with the reason. */
  signal?: AbortSignal;
  /**
   * The protocol revision of the client; by default that of the test's server.
   */
  revision?: TestRevision;
  /** The client's capabilities; by default all. */
  capabilities?: Record<string, unknown>;
  /** Called while the work goes on. */
  onProgress?: (progress: Progress) => void;
}
