/**
 * Makes a tracked session on a server without token-level answers: its sequences are tokenized from text, if there is a
 * tokenizer, and have no logprobs. The server's own tokens are used if a single call makes up the sequence.
 *
 * Chats are matched by messages as in `TrackedSequences`: a chat that begins with the turns of a recorded one continues
 * it, calls are counted by their relation, every sampled answer is trained once, and a sequence without a computable
 * mask is excluded with its reason.
 */
import { Clock, Effect, Result } from "effect"
import * as ChatMask from "./ChatMask.ts"
import type { ChatRequest, Choice, InferenceError, Recording, TextRequest, TrackedSession } from "../wire/Inference.ts"
import type { Message } from "../../trajectory/Message.ts"
import * as Branches from "../session/Branches.ts"
import * as Recordings from "./Recordings.ts"
import * as Relation from "../session/Relation.ts"
import * as Sampling from "../../trajectory/Sampling.ts"
import * as SequenceLimit from "./SequenceLimit.ts"
import * as SessionTree from "../session/SessionTree.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import type { Turn } from "../../trajectory/Timings.ts"
import type { Trajectory } from "../../trajectory/Trajectory.ts"
import type { Answer, AnswerChoice, Backend } from "../backend/Backend.ts"

/** The stored prompt: its text, unless it is a chat's. */
interface PromptText {
  readonly text: string | undefined
}

interface AnswerText {
  readonly choice: AnswerChoice
  /** If the answer begins a chat: its prompt as tokenized by the server. */
  readonly promptTokens: Answer["promptTokens"]
  readonly isTrained: boolean
  readonly time: Turn
}

type TextAnswer = SessionTree.Answer<PromptText, AnswerText>

export const make = ({
  backend,
  tokenizer
}: {
  readonly backend: Pick<Backend, "chat" | "complete" | "contextLength" | "server">
  readonly tokenizer: TokenizerShape | undefined
}): TrackedSession => {
  const tree = SessionTree.make<PromptText, AnswerText>()
  const counts = { ...Relation.none }

  /** Prompt tokens of a chat, if there is a tokenizer. */
  const lengthOfChat = ({ messages, tools }: ChatRequest): number | undefined =>
    tokenizer === undefined
      ? undefined
      : Result.getOrUndefined(
          // The server reports messages that the template does not accept.
          Result.try(() =>
            tokenizer.encode(
              tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true, ...(tools && { tools }) })
            )
          )
        )?.length

  /** The request, limited to the remaining tokens. */
  const within = <Request extends ChatRequest | TextRequest>(request: Request, promptTokens: number | undefined) =>
    promptTokens === undefined
      ? Effect.succeed(request)
      : Effect.map(SequenceLimit.maxTokens(backend, promptTokens, request.maxTokens), (maxTokens): Request =>
          maxTokens === undefined ? request : { ...request, maxTokens }
        )

  const record = (
    asking: SessionTree.Asking<PromptText, AnswerText>,
    { choices, promptTokens, usage }: Answer,
    isTrained: boolean,
    time: Turn
  ): ReadonlyArray<Choice> => {
    const from = asking.prompt.parent
    const came = choices.map((choice) => ({
      message: choice.message,
      text: choice.text,
      data: {
        choice,
        promptTokens: from === undefined ? promptTokens : undefined,
        isTrained,
        time: { ...time, ...choice.served }
      }
    }))
    return tree.record(asking, came, from).map(({ data: { choice }, sequence, turn }, at): Choice => ({
      ...withoutTokens(choice),
      // A server bills the choices of a request together: attributed to the first one.
      ...(usage !== undefined && {
        usage: { ...usage, completionTokens: at === 0 ? usage.completionTokens : 0 }
      }),
      turn,
      sequence
    }))
  }

  const recorded = Effect.fnUntraced(function* (
    asking: SessionTree.Asking<PromptText, AnswerText>,
    answering: Effect.Effect<Answer, InferenceError>,
    isTrained = true
  ) {
    const asked = yield* Clock.currentTimeMillis
    const answer = yield* answering
    return record(asking, answer, isTrained, { asked, sent: asked, answered: yield* Clock.currentTimeMillis })
  })

  const chat = Effect.fn("TextSequences.chat")(function* (request: ChatRequest) {
    const { messages, tools = [] } = request
    const place = tree.find(messages, tools)
    const relation = Relation.of(tree, place, messages)
    const limited = yield* within(request, lengthOfChat(request))
    counts[relation]++
    const asking = tree.ask(
      place.prompt ?? {
        parent: place.answer,
        asked: messages.slice(place.repeated),
        isOpen: false,
        tools: place.answer?.prompt.tools ?? tools,
        data: { text: undefined }
      }
    )
    return yield* recorded(asking, backend.chat({ ...limited, exact: true }), request.isTrained)
  })

  const complete = Effect.fn("TextSequences.complete")(function* (request: TextRequest) {
    const limited = yield* within(request, tokenizer?.encode(request.prompt).length)
    const known = tree.roots.find(({ data }) => data.text === request.prompt)
    counts[known === undefined ? "started" : "retried"]++
    const asking = tree.ask(
      known ?? { parent: undefined, asked: [], isOpen: false, tools: [], data: { text: request.prompt } }
    )
    return yield* recorded(asking, backend.complete({ ...limited, exact: true }))
  })

  const recording = Effect.sync(() => recordingOf(tokenizer, tree.tips))
  return {
    chat,
    complete,
    recording,
    branches: (rated) =>
      Effect.sync(() =>
        Branches.of(tree, rated).map(({ ends, rated }) => ({
          recording: recordingOf(tokenizer, ends, true),
          rated
        }))
      ),
    trajectories: Recordings.trajectories(backend.server, recording),
    counts: Effect.sync(() => ({ ...counts })),
    get contextLength() {
      return backend.contextLength
    },
    passesConstraintsOn: true,
    takesPictures: true
  }
}

const recordingOf = (
  tokenizer: TokenizerShape | undefined,
  tips: ReadonlyArray<TextAnswer>,
  areSelected?: boolean
): Recording => {
  const trained = new Set<TextAnswer>()
  const sequencesOf = (tip: TextAnswer) => {
    const path = SessionTree.pathOf(tip)
    const fresh = path.filter((answer) => answer.data.isTrained && !trained.has(answer))
    if (fresh.length === 0 && !tip.data.isTrained) return Recordings.untrained
    const ends = fresh.filter((answer, at) => !fresh.slice(at + 1).some((later) => isAlike(answer, later)))
    const made = ends.map((end) => trajectoryOf(tokenizer, end, fresh))
    const unmasked = made.find(Result.isFailure)
    if (unmasked !== undefined) return { reason: "unmasked" as const, message: unmasked.failure.message }
    fresh.forEach((answer) => trained.add(answer))
    return made.filter(Result.isSuccess).map(({ success: trajectory }) => ({ sequence: tip.sequence, trajectory }))
  }
  return Recordings.ofPaths(tips, sequencesOf, areSelected)
}

const isAlike = (a: TextAnswer, b: TextAnswer): boolean =>
  Sampling.areEqual(a.data.choice.sampling, b.data.choice.sampling)

/** The sequence that ends with an answer; trains those of `fresh` that were sampled the same way. */
const trajectoryOf = (
  tokenizer: TokenizerShape | undefined,
  end: TextAnswer,
  fresh: ReadonlyArray<TextAnswer>
): Result.Result<Trajectory, ChatMask.ChatMaskError> =>
  Result.map(masked(tokenizer, end, fresh), (trajectory) => ({
    ...trajectory,
    turns: SessionTree.pathOf(end).map(({ data }) => data.time)
  }))

const masked = (
  tokenizer: TokenizerShape | undefined,
  end: TextAnswer,
  fresh: ReadonlyArray<TextAnswer>
): Result.Result<Trajectory, ChatMask.ChatMaskError> => {
  const { choice, promptTokens } = end.data
  const { data, tools } = end.prompt
  if (data.text !== undefined) {
    return Result.succeed(ChatMask.textTrajectory(tokenizer, data.text, choice, promptTokens))
  }
  const messages = SessionTree.chatOf(end)
  const trained = new Set<Message>(fresh.filter((one) => isAlike(one, end)).map(({ message }) => message))
  return ChatMask.chatTrajectory(
    tokenizer,
    { messages: messages.slice(0, -1), ...(tools.length > 0 && { tools }) },
    choice,
    {
      train: (message) => trained.has(message),
      // The server's own tokens do not cover earlier turns.
      ...(promptTokens !== undefined && { promptTokens })
    }
  )
}

const withoutTokens = ({
  finishReason,
  message,
  policyVersion,
  sampling,
  stop,
  text,
  toolCalls,
  usage
}: AnswerChoice): Choice => ({
  message,
  text,
  toolCalls,
  finishReason,
  ...(stop !== undefined && { stop }),
  ...(usage !== undefined && { usage }),
  ...(policyVersion !== undefined && { policyVersion }),
  ...(sampling !== undefined && { sampling })
})
