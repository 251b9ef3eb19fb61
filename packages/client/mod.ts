/**
 * A small MCP client: both generations of the protocol, sign-in, progress,
 * questions and tasks. The test kit, the doctor, the development page for
 * views, the benchmark and the tests call servers with it.
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
