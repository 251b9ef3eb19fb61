/** @jsxImportSource @hono/hono/jsx */
/**
 * An open question of a task, with the form by which the person answers it here
 * instead of in the client.
 *
 * @module
 */
import type { FormField } from "../../core/protocol/form_fields.ts";
import { AccountForm, type FormPage } from "../../core/pages/layout.tsx";
import { Field } from "./question_fields.tsx";
import { shownMessage } from "../../core/pages/names.tsx";
import { OpenButton } from "./wait_page.tsx";

/**
 * An open question of a task, in the author's words, and the way to answer it.
 */
export type QuestionInWords = { message: string } & QuestionWay;

type QuestionWay =
  /** On a page of its own. */
  | { way: "page"; path: string; isForOthers?: boolean }
  /**
   * In a form on this page. `fields` are absent if the page cannot show them.
   */
  | { way: "form"; key: string; fields?: readonly FormField[] }
  /** By opening a URL. */
  | { way: "address"; key: string; url: string }
  /** In the client only, which answers without a person. */
  | { way: "client" };

interface QuestionProps extends FormPage {
  question: QuestionInWords;
  taskId: string;
  /** The ID of the element with the question's text, which labels its form. */
  id: string;
}

/** A question in a list, with the form, link or button to answer it. */
export function QuestionItem(props: QuestionProps) {
  const { question: { message }, id } = props;
  return (
    <li>
      {message && (
        <p class="said" id={id}>
          <bdi>{shownMessage(message)}</bdi>
        </p>
      )}
      <Answering {...props} />
    </li>
  );
}

function Answering({ question, taskId, id, ...form }: QuestionProps) {
  if (question.way === "client") {
    return (
      <p class="small soft">
        This asks the app itself, which has the answer. If the app is gone,
        cancel the task.
      </p>
    );
  }
  if (question.way === "page") {
    return (
      <p>
        <a
          class="button quiet"
          href={`${form.base ?? ""}${question.path}`}
          aria-describedby={id}
        >
          {question.isForOthers ? "Look at it" : "Answer"}
        </a>
      </p>
    );
  }
  return (
    <AccountForm
      {...form}
      action="/account/work/answer"
      fields={{ task: taskId, question: question.key }}
      labelledBy={question.message ? id : undefined}
      autocomplete="off"
    >
      {question.way === "address"
        ? <AddressActions url={question.url} />
        : <FormActions fields={question.fields} />}
    </AccountForm>
  );
}

function AddressActions({ url }: { url: string }) {
  const { host } = new URL(url);
  return (
    <>
      <p class="small soft">
        It leads to{" "}
        <strong>{host}</strong>, which this server does not answer for. Do there
        what it asks, come back and press Done.
      </p>
      <div class="actions">
        <OpenButton url={url} isQuiet />
        <AnswerButton answer="accept">Done</AnswerButton>
        <AnswerButton answer="decline">Not now</AnswerButton>
      </div>
    </>
  );
}

function FormActions({ fields }: { fields?: readonly FormField[] }) {
  return (
    <>
      {fields?.map((field) => <Field field={field} />)}
      {fields === undefined && (
        <p class="small soft">
          This page cannot show its form. Answer it in the app that asked for
          this work, or decline it.
        </p>
      )}
      <div class="actions">
        {fields && (
          <AnswerButton answer="accept" isPrimary>
            {fields.length === 0 ? "Accept" : "Answer"}
          </AnswerButton>
        )}
        <AnswerButton answer="decline">Decline</AnswerButton>
      </div>
    </>
  );
}

function AnswerButton(
  { answer, isPrimary, children }: {
    answer: "accept" | "decline";
    isPrimary?: boolean;
    children: string;
  },
) {
  return (
    <button
      class={isPrimary ? "quiet primary" : "quiet"}
      type="submit"
      name="answer"
      value={answer}
      // A form that is declined need not be filled in.
      formnovalidate={answer === "decline"}
    >
      {children}
    </button>
  );
}
