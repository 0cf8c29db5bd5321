import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema, Struct } from "effect"
import * as Normalize from "../../../src/gateway/dialect/Normalize.ts"
import type { Item } from "../../../src/gateway/dialect/responses/Items.ts"
import type { Message } from "../../../src/trajectory/Message.ts"
import { answer, decode, memory } from "./ResponsesTest.ts"

const Answer = Schema.Struct({
  reasoning: Schema.optionalKey(Schema.NonEmptyString),
  content: Schema.String,
  /** Arguments of each call, and what it gave. */
  calls: Schema.Array(Schema.Struct({ name: Schema.NonEmptyString, json: Schema.String, output: Schema.String })).check(
    Schema.isMaxLength(3)
  ),
  /** What the user says next. */
  next: Schema.String
})
const Conversation = Schema.Struct({
  instructions: Schema.optionalKey(Schema.String),
  first: Schema.String,
  answers: Schema.Array(Answer).check(Schema.isMaxLength(5))
})
type Conversation = typeof Conversation.Type

/** How clients send an answer back. */
const ways = ["items", "without ids", "interleaved", "sealed", "references", "easy", "shuffled calls"] as const
type Way = (typeof ways)[number]

const sentBack = (items: ReadonlyArray<Item>, way: Way): ReadonlyArray<unknown> => {
  switch (way) {
    case "items":
    case "interleaved":
      return items
    case "without ids":
      return items.map((item) => Struct.omit(item, ["id", "status"]))
    case "sealed":
      return items.map((item) => (item.type === "reasoning" ? { ...item, content: [], summary: [] } : item))
    case "references":
      return items.map(({ id }) => ({ type: "item_reference", id }))
    case "easy":
      return items.map((item) =>
        item.type === "message" ? { role: "assistant", content: item.content.map(({ text }) => text).join("") } : item
      )
    case "shuffled calls":
      return [
        ...items.filter(({ type }) => type !== "function_call"),
        ...items.filter(({ type }) => type === "function_call").toReversed()
      ]
  }
}

interface Turn {
  readonly items: ReadonlyArray<Item>
  readonly outputs: ReadonlyArray<{ readonly call_id: string }>
  readonly next: unknown
}

const echo = ({ items, next, outputs }: Turn, way: Way): ReadonlyArray<unknown> => {
  if (way !== "interleaved") return [...sentBack(items, way), ...outputs, next].filter((one) => one !== undefined)
  const answered = items.flatMap((item) => [
    item,
    ...outputs.filter(({ call_id: id }) => item.type === "function_call" && item.call_id === id)
  ])
  return [...answered, next].filter((one) => one !== undefined)
}

/** Plays a conversation: what was recorded, and what the dialect read of each request. */
const play = ({ answers, first, instructions }: Conversation, way: Way | "previous response") => {
  const store = memory()
  const recorded: Array<Message> = [{ role: "user", content: first }]
  let input: ReadonlyArray<unknown> = [{ role: "user", content: [{ type: "input_text", text: first }] }]
  let previous: string | undefined
  const readings: Array<{ readonly read: ReadonlyArray<Message>; readonly wanted: ReadonlyArray<Message> }> = []
  const begin: ReadonlyArray<Message> = instructions === undefined ? [] : [{ role: "system", content: instructions }]
  const ask = () => {
    const turn = decode(
      {
        model: "any",
        input,
        ...(instructions !== undefined && { instructions }),
        ...(previous !== undefined && { previous_response_id: previous }),
        include: ["reasoning.encrypted_content"]
      },
      store
    )
    readings.push({ read: turn.request.messages, wanted: [...begin, ...recorded] })
    return turn
  }
  for (const [at, { calls, content, next, reasoning }] of answers.entries()) {
    const turn = ask()
    const message = Normalize.assistant({
      content,
      ...(reasoning !== undefined && { reasoning }),
      toolCalls: calls.map(({ json, name }, index) => Normalize.toolCall(`call${at}x${index}`, name, json))
    })
    const response = answer(turn, `answer${at}`, message, store)
    const outputs = calls.map(({ output }, index) => ({
      type: "function_call_output",
      call_id: `call${at}x${index}`,
      output
    }))
    const isAnswered = calls.length === 0
    recorded.push(message)
    recorded.push(
      ...outputs.map(({ call_id: id, output }): Message => ({ role: "tool", tool_call_id: id, content: output }))
    )
    if (isAnswered) recorded.push({ role: "user", content: next })
    const user = isAnswered ? { role: "user", content: next } : undefined
    if (way === "previous response") {
      previous = response.id
      input = user === undefined ? outputs : [user]
    } else input = [...input, ...echo({ items: response.output, outputs, next: user }, way)]
  }
  ask()
  return readings
}

describe("a conversation by the Responses API", () => {
  for (const way of [...ways, "previous response" as const]) {
    it.prop(`is read as it was recorded, sent back as: ${way}`, [Arbitrary.schema(Conversation)], ([conversation]) => {
      for (const { read, wanted } of play(conversation, way)) assert.deepStrictEqual(read, wanted)
    })
  }

  it("is made of whole messages: reasoning, words and two calls are one", () => {
    const [, second] = play(
      {
        first: "weather in Oslo and Rome?",
        answers: [
          {
            reasoning: "two calls",
            content: "One moment.",
            calls: [
              { name: "weather", json: '{"city":"Oslo"}', output: "rain" },
              { name: "weather", json: '{"city":"Rome"}', output: "sun" }
            ],
            next: ""
          }
        ]
      },
      "interleaved"
    )
    assert.deepStrictEqual(
      second?.read.map(({ role, tool_calls: calls }) => [role, calls?.length ?? 0]),
      [
        ["user", 0],
        ["assistant", 2],
        ["tool", 0],
        ["tool", 0]
      ]
    )
  })
})
