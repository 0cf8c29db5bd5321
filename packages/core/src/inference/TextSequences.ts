/**
 * A tracked session over a back end that answers in text alone: tokens and masks are the tokenizer's (`ChatMask`),
 * logprobs are absent. What the server itself reports of tokens is used where one call makes the whole sequence.
 *
 * A chat that begins with the turns of a recorded one continues it; every answer sampled in the session is trained.
 */
import { Effect, Result } from "effect"
import * as ChatMask from "./ChatMask.ts"
import {
  type ChatRequest,
  type Choice,
  InferenceError,
  type TextRequest,
  type TrackedSession
} from "./backend/Inference.ts"
import type { Message } from "../Message.ts"
import * as Sampling from "../Sampling.ts"
import * as SequenceLimit from "./SequenceLimit.ts"
import type { TokenizerShape } from "./tokenizer/Tokenizer.ts"
import { repeats } from "./TrackedSequence.ts"
import type { Trajectory } from "../Trajectory.ts"
import type { AnswerChoice, Backend } from "./backend/Backend.ts"

interface TextSequence {
  /** Absent for text completions, which are never continued. */
  readonly chat: ReadonlyArray<Message> | undefined
  /** Indices of the messages that were sampled here. */
  readonly sampled: ReadonlySet<number>
  /** How its answers were sampled; `mixed`: not alike. */
  readonly sampling: Sampling.Sampling | "mixed" | undefined
  readonly trajectory: () => Result.Result<Trajectory, ChatMask.ChatMaskError>
}

/** A session whose sequences are made from text. */
export const make = ({
  backend,
  tokenizer
}: {
  readonly backend: Pick<Backend, "chat" | "complete" | "server">
  readonly tokenizer: TokenizerShape | undefined
}): TrackedSession => {
  const sequences: Array<TextSequence> = []

  const record = (sequence: TextSequence, replaced: TextSequence | undefined): number => {
    const index = replaced === undefined ? -1 : sequences.indexOf(replaced)
    const at = index === -1 ? sequences.length : index
    sequences[at] = sequence
    return at
  }

  const continuedBy = (messages: ReadonlyArray<Message>): TextSequence | undefined =>
    sequences.reduce<TextSequence | undefined>(
      (best, one) =>
        one.chat !== undefined && repeats(messages, one.chat) && one.chat.length > (best?.chat?.length ?? 0)
          ? one
          : best,
      undefined
    )

  /** Tokens of a chat's prompt, where a tokenizer can tell. */
  const lengthOfChat = ({ messages, tools }: ChatRequest): number | undefined =>
    tokenizer === undefined
      ? undefined
      : Result.getOrUndefined(
          // A template that does not take these messages is the server's to complain of.
          Result.try(() =>
            tokenizer.encode(
              tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true, ...(tools && { tools }) })
            )
          )
        )?.length

  /** The request, asking for no more than there is room for. */
  const within = <Request extends ChatRequest | TextRequest>(request: Request, promptTokens: number | undefined) =>
    promptTokens === undefined
      ? Effect.succeed(request)
      : Effect.map(SequenceLimit.maxTokens(backend.server, promptTokens, request.maxTokens), (maxTokens): Request =>
          maxTokens === undefined ? request : { ...request, maxTokens }
        )

  const chat = Effect.fn("TextSequences.chat")(function* (request: ChatRequest) {
    const base = continuedBy(request.messages)
    const limited = yield* within(request, lengthOfChat(request))
    const { choices, promptTokens } = yield* backend.chat({ ...limited, exact: true })
    return choices.map((choice, index): Choice => {
      const messages = [...request.messages, choice.message]
      const sampled = new Set([...(base?.sampled ?? []), request.messages.length])
      const sampling =
        base === undefined || (base.sampling !== "mixed" && Sampling.areEqual(base.sampling, choice.sampling))
          ? choice.sampling
          : "mixed"
      const trajectory = () =>
        sampling === "mixed"
          ? Result.fail(new ChatMask.ChatMaskError({ tokenizer: tokenizer?.name ?? "none", message: Sampling.mixed }))
          : ChatMask.chatTrajectory(tokenizer, request, choice, {
              train: (_, index) => sampled.has(index),
              // The server's own tokens say nothing of the turns before.
              ...(base === undefined && promptTokens !== undefined && { promptTokens })
            })
      return {
        ...withoutTokens(choice),
        sequence: record({ chat: messages, sampled, sampling, trajectory }, index === 0 ? base : undefined)
      }
    })
  })

  const complete = Effect.fn("TextSequences.complete")(function* (request: TextRequest) {
    const limited = yield* within(request, tokenizer?.encode(request.prompt).length)
    const { choices, promptTokens } = yield* backend.complete({ ...limited, exact: true })
    return choices.map((choice): Choice => {
      const trajectory = () => Result.succeed(ChatMask.textTrajectory(tokenizer, request.prompt, choice, promptTokens))
      return {
        ...withoutTokens(choice),
        sequence: record({ chat: undefined, sampled: new Set(), sampling: choice.sampling, trajectory }, undefined)
      }
    })
  })

  const trajectories = Effect.suspend(() =>
    Effect.forEach(sequences, ({ trajectory }) => Effect.fromResult(trajectory())).pipe(
      Effect.mapError(({ message }) => new InferenceError({ reason: "unsupported", server: backend.server, message }))
    )
  )

  return { chat, complete, trajectories }
}

const withoutTokens = ({
  finishReason,
  message,
  policyVersion,
  sampling,
  stop,
  text,
  toolCalls
}: AnswerChoice): Choice => ({
  message,
  text,
  toolCalls,
  finishReason,
  ...(stop !== undefined && { stop }),
  ...(policyVersion !== undefined && { policyVersion }),
  ...(sampling !== undefined && { sampling })
})
