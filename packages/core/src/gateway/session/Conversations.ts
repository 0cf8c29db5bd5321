/**
 * Assigns requests without a session to one: to the session whose recorded chat they continue, or to a new one, so that
 * each conversation, with its branches, becomes a session.
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
import type { StreamHandler, OpenSession, ChatHandler } from "./OpenSession.ts"
import * as PromptLimit from "./PromptLimit.ts"
import * as PromptTokens from "./PromptTokens.ts"
import type { Opened, Sessions } from "./Sessions.ts"
import type { TokenizerShape } from "../../inference/tokenizer/Tokenizer.ts"

export interface Conversations extends ChatHandler {
  /** The open session that gave an answer, by the answer's id in its dialect. */
  readonly answeredBy: (id: string) => OpenSession | undefined
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
  const byChat = new Map<string, Opened>()
  const byAnswer = new Map<string, Opened>()

  const forgetAll = (opened: Opened, chats: ReadonlySet<string>) => {
    for (const digest of chats) if (byChat.get(digest) === opened) byChat.delete(digest)
    for (const id of opened.open.answers()) byAnswer.delete(id)
  }

  const begun = new Map<Opened, Set<string>>()

  const begin = Effect.fnUntraced(function* () {
    const opened = yield* sessions.hold(url()).pipe(
      Effect.catchTags({
        GatewayError: ({ message }) => Effect.fail(new Failure({ reason: "overloaded", message })),
        InferenceError: (error) => Effect.fail(Failures.ofInference(error))
      })
    )
    const chats = new Set<string>()
    begun.set(opened, chats)
    yield* Effect.forkDetach(
      Effect.map(opened.open.ended, () => {
        begun.delete(opened)
        forgetAll(opened, chats)
      })
    )
    return opened
  })

  const ask = Effect.fn("Conversations.ask")(function* (
    request: ChatRequest,
    ignored: ReadonlyArray<string>,
    handler?: StreamHandler
  ) {
    yield* PromptLimit.check(bounds, request)
    const chain = chainOf(request.messages)
    const known = chain.findLast((digest) => byChat.has(digest))
    const opened = (known === undefined ? undefined : byChat.get(known)) ?? (yield* begin())
    const response = yield* opened.open.ask(request, ignored, handler)
    for (const { message } of response.choices) {
      const digest = digestOf(chain.at(-1) ?? "", message)
      byChat.set(digest, opened)
      begun.get(opened)?.add(digest)
    }
    byAnswer.set(response.id, opened)
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
    answeredBy: (id) => byAnswer.get(/[\da-f]{24}/.exec(id)?.[0] ?? "")?.open
  }
}
