/**
 * Anthropic's SDK over a dialect alone: what it makes of answers and events, and what it sends back, without a gateway.
 */
import Anthropic from "@anthropic-ai/sdk"
import { Effect } from "effect"
import type { Answered, Memory } from "../../../src/gateway/dialect/Dialect.ts"
import * as Messages from "../../../src/gateway/dialect/messages/Messages.ts"
import type { Choice } from "../../../src/inference/wire/Inference.ts"
import type { Message } from "../../../src/trajectory/Message.ts"

export const noMemory: Memory = {
  recall: () => undefined,
  remember: () => undefined,
  stored: () => undefined,
  forget: () => false,
  same: (value) => value
}

export const choiceOf = (message: Message, more: Partial<Choice> = {}): Choice => {
  const calls = message.tool_calls ?? []
  return {
    message,
    text: typeof message.content === "string" ? message.content : "",
    toolCalls: calls,
    finishReason: calls.length > 0 ? "tool_calls" : "stop",
    ...more
  }
}

export const answeredBy = (choice: Choice): Answered => ({
  id: "0123abcd",
  createdAt: 1,
  model: "any",
  chat: [],
  choices: [choice],
  usage: { promptTokens: 7, completionTokens: 3 }
})

export const decode = (body: unknown) => Effect.runSync(Messages.dialect.decode(body, noMemory))

/** A client whose requests a dialect answers with the choices that are given. */
export const client = (answer: (body: unknown) => Choice): Anthropic =>
  new Anthropic({
    apiKey: "any",
    maxRetries: 0,
    fetch: async (_, init) => {
      const body: unknown = JSON.parse(typeof init?.body === "string" ? init.body : "null")
      const turn = decode(body)
      const answered = answeredBy(answer(body))
      return turn.isStreamed
        ? new Response(Messages.dialect.stream(turn, answered, noMemory).end(answered).join(""), {
            headers: { "content-type": "text/event-stream" }
          })
        : Response.json(Messages.dialect.answer(turn, answered, noMemory))
    }
  })
