/**
 * The authentication of a connection.
 *
 * @module
 * @see https://www.postgresql.org/docs/current/protocol-flow.html
 */
import type { Buffer } from "node:buffer";
import type { ConnectionOptions } from "./connection_options.ts";
import { PostgresError } from "./failure.ts";
import { password, saslFirst, saslNext } from "./messages.ts";
import { SCRAM, ScramExchange } from "./scram.ts";

/** The demands of a server, by their numbers. */
const DEMAND = {
  done: 0,
  clear: 3,
  md5: 5,
  sasl: 10,
  saslContinue: 11,
  saslFinal: 12,
} as const;

/** Answers a server's demands, one after another. */
export class Login {
  #exchange?: ScramExchange;

  constructor(
    private readonly options: ConnectionOptions,
    private readonly send: (bytes: Buffer) => void,
  ) {}

  /**
   * Answers a demand.
   *
   * @throws {Error} for one that cannot be met
   */
  async answer(body: Buffer): Promise<void> {
    const { options } = this;
    const text = () => body.toString("utf8", 4);
    switch (body.readInt32BE(0)) {
      case DEMAND.done:
        if (this.#exchange && !this.#exchange.isFinished) {
          throw new Error(
            "The server did not prove that it knows the password",
          );
        }
        return;
      case DEMAND.clear:
        if (!options.tls && !options.isHere) {
          throw new PostgresError("it wants the password unencrypted", {
            fix: "Encrypt the connection (sslmode), or have Postgres use " +
              "scram-sha-256",
          });
        }
        return this.send(password(options.password()));
      case DEMAND.md5:
        return this.send(password(await this.#md5(body.subarray(4))));
      case DEMAND.sasl:
        if (!text().split("\0").includes(SCRAM)) break;
        this.#exchange = new ScramExchange(options.secrets);
        return this.send(saslFirst(SCRAM, this.#exchange.first));
      case DEMAND.saslContinue:
        return this.send(saslNext(await this.#exchange!.answer(text())));
      case DEMAND.saslFinal:
        return this.#exchange!.finish(text());
    }
    throw new PostgresError("it wants a way to sign in that is unknown here", {
      fix: "Have pg_hba.conf name scram-sha-256",
    });
  }

  async #md5(salt: Uint8Array): Promise<string> {
    const { createHash } = await import("node:crypto");
    const md5 = (...parts: (string | Uint8Array)[]) => {
      const hash = createHash("md5");
      for (const part of parts) hash.update(part);
      return hash.digest("hex");
    };
    const { options } = this;
    return `md5${md5(md5(options.password(), options.settings.user), salt)}`;
  }
}
