import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { Message } from "../../src/trajectory/Message.ts"
import * as Atif from "../../src/service/documents/Atif.ts"

const agent = { name: "tester", version: "1" }

const Call = Schema.Struct({ name: Schema.NonEmptyString, arguments: Schema.Record(Schema.String, Schema.Natural) })
const Turn = Schema.Struct({
  question: Schema.String,
  picture: Schema.Boolean,
  thought: Schema.optionalKey(Schema.NonEmptyString),
  said: Schema.NullOr(Schema.String),
  calls: Schema.Array(Call).check(Schema.isMaxLength(3)),
  prompt: Schema.Array(Schema.Natural).check(Schema.isMaxLength(5)),
  sampled: Schema.NonEmptyArray(Schema.Natural)
})
type Turn = typeof Turn.Type

const messagesOf = (turns: ReadonlyArray<Turn>): ReadonlyArray<Message> =>
  turns.flatMap(({ calls, picture, question, said, thought }, at): ReadonlyArray<Message> => {
    const ids = calls.map((_, index) => `call_${at}_${index}`)
    return [
      {
        role: "user",
        content: picture
          ? [
              { type: "text", text: question },
              { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
            ]
          : question
      },
      {
        role: "assistant",
        content: calls.length > 0 ? said : (said ?? ""),
        ...(thought !== undefined && { reasoning_content: thought }),
        ...(calls.length > 0 && {
          tool_calls: calls.map(({ arguments: value, name }, index) => ({
            id: ids[index]!,
            type: "function",
            function: { name, arguments: JSON.stringify(value) }
          }))
        })
      },
      ...ids.map((id): Message => ({ role: "tool", tool_call_id: id, content: `result of ${id}` }))
    ]
  })

const sequenceOf = (turns: ReadonlyArray<Turn>, score: number): Atif.Sequence => {
  const tokens = turns.flatMap(({ prompt, sampled }) => [...prompt, ...sampled])
  const mask = turns.flatMap(({ prompt, sampled }) => [...prompt.map(() => 0), ...sampled.map(() => 1)])
  return {
    messages: messagesOf(turns),
    tokens: Int32Array.from(tokens),
    mask: Uint8Array.from(mask),
    logprobs: Float32Array.from(mask, (trained, at) => (trained === 1 ? -at / 8 : Number.NaN)),
    score,
    sessionId: "s1"
  }
}

describe("Atif", () => {
  it.effect.prop(
    "gives a sequence back with its messages, ids and logprobs",
    [Schema.NonEmptyArray(Turn), Schema.Natural],
    ([turns, score]) =>
      Effect.gen(function* () {
        // Two answers without a token between them are one run, so each question has some.
        const sequence = sequenceOf(
          turns.map((turn) => ({ ...turn, prompt: [7, ...turn.prompt] })),
          score
        )
        const document = yield* Atif.ofSequence(sequence, agent)
        assert.deepStrictEqual(
          document.steps.map(({ step_id }) => step_id),
          document.steps.map((_, index) => index + 1)
        )
        // As it is written and read.
        const back = yield* Atif.toSequence(JSON.parse(JSON.stringify(document)))
        assert.deepStrictEqual(back, sequence)
      })
  )

  it.effect("goes without ids where an answer of the chat was not sampled, and says so", () =>
    Effect.gen(function* () {
      const messages: ReadonlyArray<Message> = [
        { role: "user", content: "Q" },
        { role: "assistant", content: "summarised" },
        { role: "user", content: "Go on" },
        { role: "assistant", content: "yes" }
      ]
      const document = yield* Atif.ofSequence(
        { messages, tokens: Int32Array.of(1, 2, 3), mask: Uint8Array.of(0, 0, 1) },
        agent
      )
      assert.match(document.notes ?? "", /without token ids/)
      const back = yield* Atif.toSequence(document)
      assert.deepStrictEqual(back.messages, messages)
      assert.strictEqual(back.tokens.length, 0)
    })
  )

  it.effect("refuses what the format has no place for, and what is no document, by name", () =>
    Effect.gen(function* () {
      const refused = (messages: ReadonlyArray<Message>) =>
        Atif.ofSequence({ messages, tokens: new Int32Array(0), mask: new Uint8Array(0) }, agent).pipe(
          Effect.flip,
          Effect.map(({ message }) => message)
        )
      const broken = { id: "a", function: { name: "f", arguments: "{" } }
      assert.match(
        yield* refused([{ role: "assistant", content: null, tool_calls: [broken] }]),
        /call 0 are not a JSON/
      )
      assert.match(yield* refused([{ role: "user", content: [{ type: "input_audio" }] }]), /input_audio/)
      assert.match(
        yield* refused([{ role: "tool", tool_call_id: "x", content: "y" }]),
        /message 0 is the result of an unknown call/
      )
      const { message } = yield* Effect.flip(Atif.toSequence({ schema_version: "ATIF-v1.7", steps: [] }))
      assert.match(message, /is not an ATIF document/)
    })
  )
})
