/**
 * A small MCP client: both generations of the protocol, sign-in, progress,
 * questions and tasks. The test kit, the doctor, the development page for
 * views, the benchmark and the tests call servers with it.
 *
 * @module
 */
export {
  Client,
  type ClientOptions,
  type EncodedRequest,
  type Json,
  type ListedTool,
  type Message,
  type Question,
  type RequestOptions,
  type Revision,
  type ServerError,
  type TaskState,
} from "./client.ts";
export {
  type Registration,
  SignIn,
  type SignInError,
  type SignInOptions,
  type SignInRequest,
  type Tokens,
} from "./sign_in.ts";
