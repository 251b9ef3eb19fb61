/**
 * A small MCP client: both generations of the protocol, sign-in, progress,
 * questions and tasks. The test kit, the doctor, the development page for
 * views, the benchmark and the tests call servers with it.
 *
 * @module
 */
export { classText } from "./class_text.ts";
export { Client, type ListRead } from "./client.ts";
export type { ClientOptions } from "./connection.ts";
export type { RequestOptions } from "./exchange.ts";
export type {
  EncodedRequest,
  Json,
  ListedTool,
  Message,
  Question,
  Revision,
  ServerError,
  TaskState,
} from "./message.ts";
export type { SignInError } from "./metadata.ts";
export type { Registration, SignInRequest, Tokens } from "./registration.ts";
export { SignIn, type SignInOptions } from "./sign_in.ts";
