/**
 * Work of days that survives its process: steps, a sleep and a question.
 * `deno run -A steps.ts`.
 */
import { serve, tool, z } from "@tool-server/tool-server";

/** The mails of a service that sends each key once. */
export const sent = new Map<string, string>();

function send(mail: string, key: string): void {
  // A real one is a request with the header Idempotency-Key.
  if (!sent.has(key)) sent.set(key, mail);
}

export const billCustomer = tool({
  name: "bill_customer",
  description: "Sends a bill, and a reminder after a week if it is wanted.",
  input: z.object({ customer: z.string(), euros: z.number().positive() }),
  annotations: { destructiveHint: false },
  task: { durable: true, keep: 7 * 24 * 3600 },
  async run({ customer, euros }, { step, sleep, ask, progress }) {
    await progress(0, 2, `sending the bill of ${customer}`);
    // Random values, times and answers of others belong into a step: it is done
    // once, and every later run of this function gets what it gave.
    const bill = await step("bill", () => {
      const number = crypto.randomUUID().slice(0, 8);
      return { number, text: `Bill ${number}: ${euros} euros` };
    }, { retries: 3 });
    // Its process may die after it was sent: with once no one gets it twice.
    await step("send", ({ once }) => send(bill.text, once));
    await progress(1, 2, "waiting a week for the money");
    await sleep("week", 7 * 24 * 3600);
    const answer = await ask({
      key: "remind",
      message: `Remind ${customer} of bill ${bill.number}?`,
      schema: z.object({ remind: z.boolean().describe("Not paid yet.") }),
    });
    if (answer.action !== "accept" || !answer.content.remind) {
      return `Bill ${bill.number} was sent.`;
    }
    await step("remind", ({ once }) => send(`Reminder: ${bill.text}`, once));
    return `Bill ${bill.number} was sent, and ${customer} was reminded.`;
  },
});

if (import.meta.main) {
  await serve({ name: "bills", version: "1.0.0", tools: [billCustomer] });
}
