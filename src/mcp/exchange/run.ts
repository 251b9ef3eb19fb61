/**
 * The run of a call: its checks, its method, and its answer on the way back.
 * A method that gives its answer at once is answered at once: a promise for
 * each step would cost a quick call a fifth of its time.
 *
 * @module
 */
import { type Answer, encode, type Ending } from "./answer.ts";
import type { Call } from "./call.ts";
import { check } from "./check.ts";
import { settle } from "./settle.ts";

/** Answers a request. Whatever it throws or rejects with is its `error`. */
export type Method<C extends Call = Call> = (
  call: C,
) => Answer | Promise<Answer>;

/** Runs a method and gives the response as soon as it begins. */
export function respond<C extends Call>(
  call: C,
  method: Method<C>,
): Response | Promise<Response> {
  const ending = run(call, method);
  if (!(ending instanceof Promise)) {
    if (ending.body !== undefined && !call.begun) return encode(ending);
    call.response.end(ending);
  } else {
    ending.then((ending) => call.response.end(ending));
  }
  return call.response.response;
}

/** Runs a method until its request is answered. Never rejects. */
export function run<C extends Call>(
  call: C,
  method: Method<C>,
): Ending | Promise<Ending> {
  call.admitted.operation?.take();
  try {
    const checking = check(call);
    const answer = checking ? checking.then(() => method(call)) : method(call);
    if (answer instanceof Promise) return wait(call, answer);
    settle(call, answer);
  } catch (error) {
    settle(call, { error });
  }
  return call.ending!;
}

/** Waits for an answer; meanwhile the call can be found and cancelled. */
function wait(call: Call, answer: Promise<Answer>): Promise<Ending> {
  const { running } = call.engine;
  const ended = new Promise<Ending>((resolve) => {
    if (call.ending) resolve(call.ending);
    else call.onEnding = resolve;
  });
  running.add(call);
  answer.then(
    (answer) => settle(call, answer),
    (error) => settle(call, { error }),
  ).then(() => {
    running.delete(call);
    call.stopIfCut();
  });
  return ended;
}
