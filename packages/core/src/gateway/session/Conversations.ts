/**
 * Assigns requests without a session to one: to the session whose recorded chat they continue, or to a new one, so that
 * each conversation, with its branches, becomes a session. Of equal chats of several sessions (`EqualChats`) each
 * request continues one that has no continuation yet.
 *
 * A chat is identified by a chain of digests, one per message: lookup is linear in the request, and no message is
 * stored. Differences due to client serialization (arguments of calls, no content) are ignored, as is reasoning, which
 * some clients omit. Dialects that refer to earlier answers by id share one memory.
 */
import { Effect, Result } from "effect"
import { createHash } from "node:crypto"
import { Failure } from "../dialect/Dialect.ts"
import type { ChatRequest } from "../../inference/wire/Inference.ts"
import * as ExactJson from "../../base/json/ExactJson.ts"
import * as AnswerMemory from "./AnswerMemory.ts"
import * as Failures from "./Failures.ts"
import * as Nesting from "../../base/json/Nesting.ts"
import type { Message } from "../../trajectory/Message.ts"
import * as EqualChats from "./EqualChats.ts"
import type { StreamHandler, OpenSession, ChatHandler } from "./OpenSession.ts"
import * as PromptLimit from "./PromptLimit.ts"
import * as PromptTokens from "./PromptTokens.ts"
import type { Sessions } from "./Sessions.ts"
import type { TokenizerShape } from "../../inference/tokenizer/Tokenizer.ts"

interface Rated {
  readonly session: OpenSession
  readonly answer: string
  /** Call once the reward is reported. */
  readonly keep: () => void
}

export interface Conversations extends ChatHandler {
  /** The open session that a reward of an answer is for, by the answer's id in its dialect, with its id there. */
  readonly rated: (id: string) => Effect.Effect<Rated, Failure>
}

/** Rewrites JSON in one canonical form; other text is unchanged. */
const sameJson = (text: string): string =>
  Nesting.isDeep(text)
    ? text
    : Result.getOrElse(
        Result.try(() => ExactJson.write(ExactJson.parse(text)) ?? text),
        () => text
      )

const digestOf = (before: string, { content, role, tool_call_id: answers, tool_calls: calls = [] }: Message): string =>
  createHash("sha256")
    .update(before)
    .update(
      JSON.stringify([
        role,
        content ?? "",
        answers ?? "",
        calls.map(({ function: { arguments: text, name }, id }) => [id ?? "", name, sameJson(text)])
      ])
    )
    .digest("base64")

/** The digest of the chat up to each of its messages. */
const chainOf = (messages: ReadonlyArray<Message>): ReadonlyArray<string> => {
  const chain: Array<string> = []
  for (const message of messages) chain.push(digestOf(chain.at(-1) ?? "", message))
  return chain
}

export const make = (sessions: Sessions, tokenizer: TokenizerShape | undefined, url: () => string): Conversations => {
  const bounds = { tokenizer, limits: sessions.limits, sequenceLimit: Number.POSITIVE_INFINITY }
  const chats = EqualChats.make()
  /** The chat whose reward an answer's is, and the answer's id there. */
  const byAnswer = new Map<string, { readonly chat: EqualChats.Chat; readonly answer: string }>()

  const begin = Effect.fnUntraced(function* () {
    const { open } = yield* sessions.hold(url()).pipe(
      Effect.catchTags({
        GatewayError: ({ message }) => Effect.fail(new Failure({ reason: "overloaded", message })),
        InferenceError: (error) => Effect.fail(Failures.ofInference(error))
      })
    )
    yield* Effect.forkDetach(
      Effect.map(open.ended, () => {
        chats.forget(open)
        for (const id of open.answers()) byAnswer.delete(id)
      })
    )
    return open
  })

  const ask = Effect.fn("Conversations.ask")(function* (
    request: ChatRequest,
    ignored: ReadonlyArray<string>,
    model: string,
    handler?: StreamHandler
  ) {
    yield* PromptLimit.check(bounds, request)
    const chain = chainOf(request.messages)
    const quoted = request.messages.map((message) => (message.role === "assistant" ? digestOf("", message) : undefined))
    const continued = chats.continued(chain, quoted)
    const session = continued?.session ?? (yield* begin())
    const response = yield* session
      .ask(request, ignored, model, handler)
      .pipe(Effect.onError(() => Effect.sync(() => continued?.undo())))
    for (const { message } of response.choices) {
      const digest = digestOf(chain.at(-1) ?? "", message)
      const chat = chats.keep({ digest, session, answer: response.id, quote: digestOf("", message) })
      byAnswer.set(response.id, { chat, answer: response.id })
    }
    return response
  })

  return {
    modelName: sessions.modelName,
    memory: AnswerMemory.make(sessions.limits.answersKept),
    ask,
    // It belongs to no conversation.
    refused: () => undefined,
    countTokens: (request) =>
      Effect.andThen(PromptLimit.check(bounds, request), PromptTokens.count(tokenizer, request)),
    rated: (id) =>
      Effect.suspend(() => {
        const answer = /[\da-f]{24}/.exec(id)?.[0] ?? ""
        const own = byAnswer.get(answer)
        if (own === undefined) return Effect.fail(wrong("expected the id of an answer of an open conversation"))
        const chat = chats.rated(own.chat)
        if (chat === undefined) return Effect.fail(wrong(shared))
        const other = { chat, answer: chat === own.chat ? own.answer : chat.answer }
        const keep = () => {
          chat.isRated = true
          if (chat === own.chat) return
          byAnswer.set(answer, other)
          byAnswer.set(chat.answer, own)
        }
        return Effect.succeed({ session: chat.session, answer: other.answer, keep })
      })
  }
}

const wrong = (message: string): Failure =>
  new Failure({ reason: "invalid", param: "answer", message: `answer: ${message}` })

const shared =
  "several conversations begin with this chat and have continued, so it is not known which of them the reward is for: " +
  "give the id of a later answer"
