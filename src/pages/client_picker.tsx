/** @jsxImportSource @hono/hono/jsx */
/**
 * A choice of clients, of which one shows what to do. Radio buttons and a
 * style make it work without a script.
 *
 * @module
 */
import type { ClientGuide } from "./client_guides.ts";
import { CopyLine } from "./copy_line.tsx";

/** One client at a time; the first is chosen. */
export function ClientPicker({ guides }: { guides: readonly ClientGuide[] }) {
  return (
    <fieldset class="picker card">
      <legend class="visually-hidden">Your client</legend>
      {guides.map((guide, index) => (
        <>
          <input
            type="radio"
            name="client"
            id={`client-${index}`}
            class="visually-hidden"
            checked={index === 0}
          />
          <label for={`client-${index}`}>{guide.client}</label>
          <Guide {...guide} />
        </>
      ))}
    </fieldset>
  );
}

function Guide({ client, how, line, install, notes = [] }: ClientGuide) {
  return (
    <div class="guide">
      <h3 class="visually-hidden">{client}</h3>
      <p>{how}</p>
      {install && (
        <p>
          <a class="button primary" href={install.href}>{install.label}</a>
        </p>
      )}
      {line && <CopyLine text={line} label={`Copy for ${client}`} />}
      {notes.map((note) => <p class="small soft">{note}</p>)}
    </div>
  );
}
