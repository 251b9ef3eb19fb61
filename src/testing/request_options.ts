/**
 * What a test's request meets on its way, and what it hears there.
 *
 * @module
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import type { TestAnswers } from "./answers.ts";
import type { ProviderApi } from "./provider_api.ts";

/** The generations of the protocol that a test can speak. */
export type TestRevision = "2025-11-25" | "2026-07-28";

/** How far a tool said it is. */
export interface Progress {
  /** What is done. */
  progress: number;
  /** What there is to do in all. */
  total?: number;
  /** The same in words. */
  message?: string;
}

/** What a tool logged for its client. */
export interface LogMessage {
  /** How severe it is. */
  level: LoggingLevel;
  /** What the tool logged. */
  data: unknown;
  /** The part of the tool that speaks. */
  logger?: string;
}

/** What a request meets on its way. All optional. */
export interface RequestOptions {
  /** Answers to what is asked; a question without one fails the test. */
  answers?: TestAnswers;
  /** The provider's API behind the caller; without it there is none. */
  upstream?: ProviderApi;
  /** Cancels the request as a client does; it then rejects with the reason. */
  signal?: AbortSignal;
  /** The protocol the client speaks, that of the server's test by default. */
  revision?: TestRevision;
  /** What the client can do; by default everything. */
  capabilities?: Record<string, unknown>;
  /** Called while the work goes on. */
  onProgress?: (progress: Progress) => void;
}
