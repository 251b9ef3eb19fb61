/**
 * A small MCP client: both generations of the protocol, sign-in, progress,
 * questions and tasks.
 *
 * @module
 */
export { Client, type ListRead } from "./client.ts";
export type {
  ClientOptions,
  EncodedRequest,
  Json,
  ListedTool,
  Message,
  Question,
  Revision,
  ServerError,
  TaskState,
} from "./connection.ts";
export type { RequestOptions } from "./exchange.ts";
export type {
  Challenge,
  Registration,
  SignInError,
  SignInRequest,
  Tokens,
} from "./metadata.ts";
export { SignIn, type SignInOptions } from "./sign_in.ts";
