/**
 * A small MCP client: all revisions of the protocol, sign-in, progress,
 * questions and tasks.
 *
 * @module
 */
export { Client, type ListRead, type RequestOptions } from "./client.ts";
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
export {
  type Challenge,
  type Registration,
  SignIn,
  type SignInError,
  type SignInOptions,
  type SignInRequest,
  type Tokens,
} from "./sign_in.ts";
