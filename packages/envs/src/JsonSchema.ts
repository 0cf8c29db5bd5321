/**
 * Asks for one JSON value that is valid against a given schema.
 *
 * Score 1 if the text after the only think block is JSON (a code fence is ignored), valid, and contains the values the
 * prompt states; else 0. Schemas are generated, or rows of a data set, draft-06 to 2020-12; they run in threads with a
 * deadline, so that none can stall the process. A row whose schema cannot be compiled makes its group unscorable. After
 * pydantic_schema_following_environment.py of the original, which ran model code from the data.
 */
import { Columns, Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import * as Thinking from "./kit/Thinking.ts"
import { Effect, Equal, Result, Schema } from "effect"
import * as Bank from "./json-schema/Bank.ts"
import * as SchemaVerifier from "./json-schema/SchemaVerifier.ts"

const text = Schema.NullOr(Schema.NonEmptyString)

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...ItemSource.fields("epfl-dlab/JSONSchemaBench/Github_medium/train"),
  thinking: SingleTurn.thinking,
  schemaField: Environment.field(
    Schema.NonEmptyString,
    "json_schema",
    "column with the schema: JSON text or an object"
  ),
  requestField: Environment.field(text, null, "column with the request; if unset, any value that fits the schema")
})

interface Item extends Pick<Bank.Task, "request" | "schema" | "told"> {
  readonly sample?: string
  readonly spoiled?: ReadonlyArray<string>
}

const anyValue = "Write a JSON value that fits the schema."
const thinkFirst = "Think between <think> and </think> first. "

const promptOf = ({ request, schema }: Item, thinking: boolean): string =>
  `${request}\n\nThe JSON schema:\n\n${schema}\n\n${thinking ? thinkFirst : ""}Answer with the JSON value and nothing else.`

const opens = /^(`{3,}|~{3,})(?:json)?[^\S\n]*\n/i

/** The JSON text of an answer, without a surrounding fence. */
const valueOf = (answer: string): string => {
  const trimmed = answer.trim()
  const [opened = "", closes = ""] = opens.exec(trimmed) ?? []
  return opened === "" || trimmed.length < opened.length + closes.length || !trimmed.endsWith(closes)
    ? trimmed
    : trimmed.slice(opened.length, -closes.length).trim()
}

const decode = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

/** Checks that a valid answer contains all stated values and is not a copy of the schema. */
const message = ({ schema, told: reported }: Item, answer: string): boolean => {
  const record = Result.getOrUndefined(decode(answer))
  if (record !== undefined && Equal.equals(record, Result.getOrUndefined(decode(schema)))) return false
  return Object.entries(reported).every(([name, value]) => Equal.equals(record?.[name], value))
}

export const layer = Environment.layer("json-schema", settings, (selected) =>
  Effect.gen(function* () {
    const { requestField, schemaField, source, thinking } = selected
    const servers = yield* ServerManager.ServerManager
    const judge = yield* SchemaVerifier.make()
    const columns = {
      schema: { setting: "schema_field", column: schemaField, kind: Columns.written },
      ...(requestField !== null && {
        request: { setting: "request_field", column: requestField, kind: Columns.text }
      })
    }
    const { heldOut, items } =
      source === ItemSource.generated
        ? ItemSource.drawn({
            ...selected,
            draw: (random): Item => Bank.draw(random),
            key: ({ request, schema }) => request + schema
          })
        : yield* ItemSource.shuffledRowsAs({ ...selected, columns }, ({ request = anyValue, schema }) =>
            Result.map(SchemaVerifier.schemaText(schema), (written): Item => ({ request, schema: written, told: {} }))
          )
    const asking = SingleTurn.make(servers, selected, (item: Item) => ({
      messages: [Message.user(promptOf(item, thinking))]
    }))

    const judged = Effect.fnUntraced(function* (item: Item, trajectory: Trajectory.Trajectory) {
      const answer = Thinking.answer(trajectory.completion, thinking)
      if (answer === undefined || trajectory.finishReason === "length") return { valid: 0, correct: 0 }
      const value = valueOf(answer)
      const verdict = yield* judge(item.schema, value)
      if (verdict._tag === "unusable") {
        return yield* new Environment.Unscorable({ message: `unusable schema: ${verdict.problem}` })
      }
      const isValid = verdict._tag === "valid"
      return { valid: isValid ? 1 : 0, correct: isValid && message(item, value) ? 1 : 0 }
    })
    const asAnswer = (value: string): string => (thinking ? `<think>I go by the schema.</think>\n${value}` : value)

    return {
      items,
      collectTrajectories: asking.train,
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.forEach(group, (trajectory) => Effect.map(judged(item, trajectory), (rewards) => ({ rewards })), {
          concurrency: "unbounded"
        }),
      components: { weights: { valid: 0, correct: 1 } },
      evaluation: { items: heldOut, collectTrajectories: asking.evaluate },
      label: (item: Item) => promptOf(item, thinking),
      claims:
        source === ItemSource.generated
          ? {
              scoreRange: [0, 1] as const,
              gold: ({ sample = "" }: Item) => [asAnswer(sample), asAnswer(`\`\`\`json\n${sample}\n\`\`\``)],
              wrong: ({ schema, spoiled = [] }: Item) => ["", asAnswer(""), asAnswer(schema), ...spoiled.map(asAnswer)]
            }
          : { untestable: "rows have schemas, but no valid values", scoreRange: [0, 1] as const }
    }
  })
)
