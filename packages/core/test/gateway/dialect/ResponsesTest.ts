/** What tests of the Responses dialect share: a memory, and what becomes of a request and of an answer. */
import { Effect, Exit } from "effect"
import type { Memory, Turn } from "../../../src/gateway/dialect/Dialect.ts"
import * as Responses from "../../../src/gateway/dialect/responses/Responses.ts"
import type { Item } from "../../../src/gateway/dialect/responses/Items.ts"
import type { Asked } from "../../../src/gateway/dialect/responses/Request.ts"
import type { Message } from "../../../src/trajectory/Message.ts"

/** A memory that forgets nothing. */
export const memory = (): Memory => {
  const chats = new Map<string, { readonly messages: ReadonlyArray<Message>; readonly stored: unknown }>()
  return {
    recall: (id) => chats.get(id)?.messages,
    remember: (id, messages, stored) => void chats.set(id, { messages, stored }),
    stored: (id) => chats.get(id)?.stored,
    forget: (id) => chats.delete(id),
    same: (value) => value
  }
}

export const decode = (body: unknown, from: Memory = memory()): Turn<Asked> =>
  Effect.runSync(Responses.dialect.decode(body, from))

/** The error that a request gets: status and body. */
export const refusal = (body: unknown, from: Memory = memory()) => {
  const exit = Effect.runSyncExit(Effect.flip(Responses.dialect.decode(body, from)))
  if (Exit.isFailure(exit)) throw new Error("it was taken")
  const { body: written, status } = Responses.dialect.failure(exit.value)
  // The form is the dialect's.
  return {
    status,
    ...(written as { error: { message: string; type: string; param: string | null; code: string | null } }).error
  }
}

const answeredOf = ({ request }: Turn<Asked>, id: string, message: Message, finishReason: string) => ({
  id,
  chat: request.messages,
  createdAt: 1_800_000_000,
  model: "any",
  choices: [{ message, text: "", toolCalls: message.tool_calls ?? [], finishReason }],
  usage: { promptTokens: 12, completionTokens: 5 }
})

export const answer = (turn: Turn<Asked>, id: string, message: Message, from: Memory, finishReason = "stop") =>
  // The form is the dialect's.
  Responses.dialect.answer(turn, answeredOf(turn, id, message, finishReason), from) as {
    readonly id: string
    readonly status: string
    readonly output: ReadonlyArray<Item>
  } & Record<string, unknown>

export const events = (turn: Turn<Asked>, id: string, message: Message, from: Memory, finishReason = "stop") =>
  streamed(turn, answeredOf(turn, id, message, finishReason), from)

const streamed = (turn: Turn<Asked>, answered: ReturnType<typeof answeredOf>, from: Memory) =>
  Responses.dialect.stream(turn, answered, from).end(answered)
