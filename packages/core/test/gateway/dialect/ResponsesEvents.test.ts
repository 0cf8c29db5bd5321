import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import OpenAI from "openai"
import * as Normalize from "../../../src/gateway/dialect/Normalize.ts"
import type { Message } from "../../../src/trajectory/Message.ts"
import { answer, decode, events, memory } from "./ResponsesTest.ts"

const Said = Schema.Struct({
  reasoning: Schema.optionalKey(Schema.NonEmptyString),
  content: Schema.String,
  calls: Schema.Array(Schema.Struct({ name: Schema.NonEmptyString, json: Schema.String })).check(Schema.isMaxLength(3)),
  isCut: Schema.Boolean,
  isSummarized: Schema.Boolean
})
type Said = typeof Said.Type

const messageOf = ({ calls, content, reasoning }: Said): Message =>
  Normalize.assistant({
    content,
    ...(reasoning !== undefined && { reasoning }),
    toolCalls: calls.map(({ json, name }, at) => Normalize.toolCall(`call${at}`, name, json))
  })

const bodyOf = ({ isSummarized }: Said) => ({
  model: "any",
  input: "hello",
  stream: true as const,
  ...(isSummarized && { reasoning: { summary: "auto" as const } })
})

/** A client of the package whose server says what is given. */
const clientOf = (text: string) =>
  new OpenAI({
    apiKey: "any",
    fetch: () => Promise.resolve(new Response(text, { headers: { "content-type": "text/event-stream" } }))
  })

describe("the events of a response", () => {
  it.effect.prop("add up to it in the package's own stream", [Arbitrary.schema(Said)], ([said]) =>
    Effect.gen(function* () {
      const body = bodyOf(said)
      const turn = decode(body)
      const reason = said.isCut ? "length" : "stop"
      const frames = events(turn, "a1", messageOf(said), memory(), reason)
      const response = answer(turn, "a1", messageOf(said), memory(), reason)
      const stream = clientOf(frames.join("")).responses.stream(body)
      const deltas: Array<unknown> = []
      stream.on("event", (event) => deltas.push("delta" in event ? event.delta : ""))
      const final = yield* Effect.promise(() => stream.finalResponse())
      assert.deepStrictEqual(
        final.output.map((item) =>
          JSON.parse(JSON.stringify(item, (key, value) => (key.startsWith("parsed") ? undefined : value)))
        ),
        // As it went over the wire.
        JSON.parse(JSON.stringify(response.output))
      )
      assert.strictEqual(final.status, response.status)
      assert.strictEqual(final.output_text, said.content)
      const spoken = (said.reasoning ?? "").repeat(said.isSummarized ? 2 : 1) + said.content
      assert.strictEqual(deltas.join(""), spoken + said.calls.map(({ json }) => json).join(""))
    })
  )

  it("are numbered, named and in the order of the API", () => {
    const said: Said = {
      reasoning: "hm",
      content: "ok",
      calls: [{ name: "add", json: "{}" }],
      isCut: false,
      isSummarized: true
    }
    const frames = events(decode(bodyOf(said)), "a1", messageOf(said), memory())
    const parsed = frames.map((frame) => {
      const [, name, data = ""] = /^event: (.*)\ndata: (.*)\n\n$/s.exec(frame) ?? []
      const event: { type: string; sequence_number: number } = JSON.parse(data)
      assert.strictEqual(event.type, name)
      return event
    })
    assert.deepStrictEqual(
      parsed.map(({ sequence_number: number }) => number),
      parsed.map((_, at) => at)
    )
    assert.deepStrictEqual(
      parsed.map(({ type }) => type.replace("response.", "")),
      [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed"
      ]
    )
  })
})
