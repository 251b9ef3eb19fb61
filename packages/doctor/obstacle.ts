/**
 * The reasons why a server is not reached.
 *
 * @module
 */
import { wholeTextOf } from "../../src/thrown.ts";
import { Fault } from "./finding.ts";

/** The reason why a server is not reached, and its fix. */
interface Obstacle {
  /** A pattern for the message of `fetch`. */
  said: RegExp;
  found: string;
  fix: string;
}

const OBSTACLES: readonly Obstacle[] = [
  {
    said: /TimeoutError/,
    found: "does not answer within 10 seconds",
    fix: "Look at the server's log, and at any proxy in front of it.",
  },
  {
    said: /certificate/,
    found: "has no certificate that clients trust",
    fix: "Install one for this very host name, with its intermediates.",
  },
  {
    said: /dns error/,
    found: "is no name that leads anywhere",
    fix: "Mind the spelling, and the domain's records.",
  },
  {
    said: /invalid HTTP version|InvalidContentType|corrupt message/,
    found: "speaks another protocol",
    fix: "Mind https and http in the address.",
  },
  {
    said: /./,
    found: "cannot be reached",
    fix:
      "Start the server (deno task dev), and mind HOST, PORT and any firewall.",
  },
];

/** Makes the fault for a request that was not answered. */
export function unreachable({ origin }: URL, error: unknown): Fault {
  const words = wholeTextOf(error);
  const { found, fix } = OBSTACLES.find(({ said }) => said.test(words))!;
  return new Fault(`${origin} ${found}`, fix);
}
