/** Converts a row of a configured data set to an item with prompt and answer. */
import { Columns, Message } from "@atropos/core"
import type * as ItemSource from "../kit/ItemSource.ts"
import { Result } from "effect"
import * as Marker from "./Marker.ts"
import * as Template from "./Template.ts"

export interface Item {
  readonly messages: ReadonlyArray<Message.Message>
  /** Absent if no reward needs it. */
  readonly solution?: string
  readonly id?: string
}

export interface Mapping {
  readonly promptField: string
  readonly answerField: string | null
  readonly idField: string | null
  readonly answerAfter: string | null
  readonly systemPrompt: string | null
  readonly promptTemplate: string | null
}

type Wanted = Record<string, Columns.Column<unknown>>

/** The columns to read: prompt and answer under these names, those of the template under their own. */
export const columnsOf = ({ answerField, idField, promptField, promptTemplate }: Mapping): Wanted => ({
  ...(promptTemplate === null
    ? { prompt: { setting: "prompt_field", column: promptField, kind: Columns.chat } }
    : Object.fromEntries(
        Template.columnsOf(promptTemplate).map((column) => [
          templated(column),
          { setting: "prompt_template", column, kind: Columns.written }
        ])
      )),
  ...(idField !== null && { id: { setting: "id_field", column: idField, kind: Columns.written } }),
  ...(answerField !== null && { answer: { setting: "answer_field", column: answerField, kind: Columns.answer } })
})

const templated = (column: string): string => `template:${column}`

const withSystem = (messages: ReadonlyArray<Message.Message>, prompt: string | null): ReadonlyArray<Message.Message> =>
  prompt === null || messages.some(({ role }) => role === "system") ? messages : [Message.system(prompt), ...messages]

/** The item of a row, or the reason if none. */
export const make =
  ({ answerAfter, promptTemplate, systemPrompt }: Mapping): ItemSource.Make<Wanted, Item> =>
  (picked) => {
    const messages =
      promptTemplate === null
        ? // Read as a chat, see above.
          (picked["prompt"] as ReadonlyArray<Message.Message>)
        : [Message.user(Template.fill(promptTemplate, (column) => picked[templated(column)]))]
    const id = Columns.asWritten(picked["id"])
    if (id !== undefined && typeof id !== "string") {
      return Result.fail("its id is neither a text nor a number (id_field)")
    }
    const item = { messages: withSystem(messages, systemPrompt), ...(id !== undefined && { id }) }
    const answer = picked["answer"]
    if (typeof answer !== "string") return Result.succeed(item)
    const solution = answerAfter === null ? answer.trim() : Marker.answerAfter(answer, answerAfter)
    return solution === undefined
      ? Result.fail(`the answer has no ${JSON.stringify(answerAfter)} (answer_after)`)
      : Result.succeed({ ...item, solution })
  }
