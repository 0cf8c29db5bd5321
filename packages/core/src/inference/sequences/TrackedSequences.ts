/**
 * Records the exact tokens and logprobs of every call of a session, over any number of turns and branches (the
 * original's managed server, atroposlib/envs/server_handling/managed_server.py).
 *
 * Guarantees: a chat that repeats earlier requests and answers is sent with the tokens as sampled, never re-tokenized;
 * only its new messages are rendered and encoded, in time linear in them, if the chat template allows it
 * (`ChatPrompt`). Messages are compared as `SameMessage` defines, so an answer is recognized if a client sends it back
 * without its reasoning. Calls are counted by `Relation`; each path from a root to a leaf answer is a sequence, each
 * sampled token is trained once, and anything unreliable is excluded with its reason (`TokenSequences`). The first
 * answer of a call takes over the number of the sequence it continues, others (n > 1) get new numbers;
 * `choice.sequence` is the sequence an answer ended. Calls may be concurrent. A backend without token-level answers
 * gives the tokenizer's tokens, without logprobs.
 */
import { Clock, Effect, Result, Struct } from "effect"
import type { Backend } from "../backend/Backend.ts"
import * as TextSequences from "./TextSequences.ts"
import {
  type ChatRequest,
  type Choice,
  InferenceError,
  type DeltaHandler,
  type SamplingOptions,
  type TextRequest,
  type TokenChoice,
  type TrackedSession
} from "../wire/Inference.ts"
import * as Answers from "./Answers.ts"
import * as Formats from "../format/Formats.ts"
import * as ToolSupport from "../format/ToolSupport.ts"
import type { Setting } from "../format/OutputFormat.ts"
import { hasMedia } from "../../trajectory/Message.ts"
import * as SamplingSettings from "../../trajectory/SamplingSettings.ts"
import * as PromptEncoder from "../tokenizer/PromptEncoder.ts"
import * as Branches from "../session/Branches.ts"
import * as Recordings from "./Recordings.ts"
import * as Relation from "../session/Relation.ts"
import * as SequenceLimit from "./SequenceLimit.ts"
import * as SessionTree from "../session/SessionTree.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"
import * as TokenPrompts from "./TokenPrompts.ts"
import * as TokenSequences from "./TokenSequences.ts"
import * as TokenTree from "./TokenTree.ts"
import * as ToolCalls from "./ToolCalls.ts"

export interface Settings {
  /** Keeps `<think>` blocks of earlier turns in the prompt even if the chat template drops them. Default true. */
  readonly preserveThinkBlocks?: boolean
  /**
   * Keeps reasoning in an answer's content as the model wrote it ("content", default), or separate as
   * `reasoning_content` ("apart").
   */
  readonly reasoning?: "content" | "apart"
  /** The model's format of calls and reasoning. Default: derived from its tokenizer. */
  readonly format?: Setting
  /** Rejects chats with images, which ids cannot represent. Default false. */
  readonly refusesPictures?: boolean
}

export interface Options extends Settings {
  readonly backend: Pick<Backend, "contextLength" | "server" | "tokens">
  readonly tokenizer: TokenizerShape
}

/** A session with exact tokens if the backend supports them, else the tokenizer's. */
export const session = (
  options: Settings & { readonly backend: Backend; readonly tokenizer: TokenizerShape | undefined }
): TrackedSession => {
  const { backend, tokenizer } = options
  return backend.capabilities.tokens && tokenizer !== undefined
    ? make({ ...options, tokenizer })
    : TextSequences.make({ backend, tokenizer })
}

export const make = (options: Options): TrackedSession => {
  const { backend, preserveThinkBlocks = true, reasoning = "content", refusesPictures = false, tokenizer } = options
  const { server } = backend
  const format = Formats.of(tokenizer, options.format)
  const tree = SessionTree.make<TokenTree.PromptTokens, TokenTree.AnswerTokens>()
  const translator = ToolCalls.makeTranslator({ format, reasoning })
  const prompts = TokenPrompts.make({
    tree,
    tokenizer,
    encoder: PromptEncoder.make(tokenizer),
    preserveThinkBlocks,
    toText: translator.toText,
    isContent: format.isContent
  })
  const reader = Answers.make(tokenizer, translator, format)
  const counts = { ...Relation.none }

  const sample = Effect.fnUntraced(function* (
    request: ChatRequest | TextRequest,
    prepared: TokenPrompts.Prepared,
    answer: (inputIds: ReadonlyArray<number>, sampled: TokenChoice) => Effect.Effect<Answers.Read>,
    growing?: (inputIds: ReadonlyArray<number>) => DeltaHandler<ReadonlyArray<number>> | undefined
  ) {
    const { prompt, relation } = prepared
    const asked = yield* Clock.currentTimeMillis
    const { base, length } = prompt.data
    const maxTokens = yield* SequenceLimit.maxTokens(backend, length, request.maxTokens)
    counts[relation]++
    const asking = tree.ask(prompt)
    const inputIds = TokenTree.idsOf(prompt.data)
    const onTokens = growing?.(inputIds)
    const sampled = yield* backend.tokens({
      ...samplingOf(request),
      ...(maxTokens !== undefined && { maxTokens }),
      inputIds,
      origin: request,
      ...(onTokens !== undefined && { onTokens })
    })
    const read = yield* Effect.forEach(sampled, (one) => answer(inputIds, one))
    const now = yield* Clock.currentTimeMillis
    const from = base !== undefined && base.kept === base.answer.data.ids.length ? base.answer : undefined
    const came = read.map(({ choice, message }, index) => ({
      message,
      text: choice.text,
      data: TokenTree.sampled(tokenizer, sampled[index]!, prompt.data, {
        isStopped: choice.stop !== undefined,
        isTrained: !("isTrained" in request) || (request.isTrained ?? true),
        time: { asked, sent: asked, answered: now, ...sampled[index]!.served }
      })
    }))
    return tree.record(asking, came, from).map(({ data: { ids }, sequence, turn }, index): Choice => ({
      ...read[index]!.choice,
      usage: { promptTokens: length, completionTokens: ids.length },
      turn,
      sequence
    }))
  })

  const chat = Effect.fn("TrackedSequences.chat")(function* (request: ChatRequest) {
    yield* ToolSupport.report(tokenizer, request.tools ?? [], format)
    const prepared = yield* prepare(server, () =>
      refusesPictures && request.messages.some(hasMedia) ? Result.fail(pictures) : prompts.chat(request)
    )
    if (prepared.warning !== undefined) {
      yield* Effect.logWarning("chat template rewrites earlier turns; started a new sequence", {
        tokenizer: tokenizer.name,
        ...prepared.warning
      })
    } else if (prepared.relation === "rewritten") {
      yield* Effect.logInfo("chat history differs from the recorded one; started a new sequence")
    }
    // With several answers, or reasoning inside of the content, nothing is streamed.
    const isHeard = reasoning === "apart" && (request.n ?? 1) === 1 && request.messages.at(-1)?.role !== "assistant"
    return yield* sample(
      request,
      prepared,
      (inputIds, one) => reader.ofChat(request, inputIds, one),
      isHeard ? (inputIds) => reader.growing(request, inputIds) : undefined
    )
  })

  const complete = Effect.fn("TrackedSequences.complete")((request: TextRequest) =>
    Effect.flatMap(
      Effect.sync(() => prompts.text(request.prompt)),
      (prepared) => sample(request, prepared, (_, sampled) => Effect.succeed(reader.ofText(request, sampled)))
    )
  )

  const recording = Effect.sync(() => TokenSequences.recording(tokenizer, tree.tips))
  return {
    chat,
    complete,
    recording,
    branches: (rated) =>
      Effect.sync(() =>
        Branches.of(tree, rated).map(({ ends, rated }) => ({
          recording: TokenSequences.recording(tokenizer, ends, true),
          rated
        }))
      ),
    trajectories: Recordings.trajectories(server, recording),
    counts: Effect.sync(() => ({ ...counts })),
    get contextLength() {
      return backend.contextLength
    }
  }
}

const pictures =
  "a chat with images or other non-text parts has no exact tokens, because token ids cannot represent them: send text, or use a server without token-level answers"

/** Failures of the template or this session to build a prompt are the request's fault. */
const prepare = (
  server: string,
  make: () => Result.Result<TokenPrompts.Prepared, string>
): Effect.Effect<TokenPrompts.Prepared, InferenceError> =>
  Effect.suspend(() =>
    Effect.fromResult(
      Result.mapError(make(), (message) => new InferenceError({ reason: "unsupported", server, message }))
    )
  )

const samplingOf = (request: ChatRequest | TextRequest): SamplingOptions =>
  Struct.pick(request, [...SamplingSettings.parameters, "extra", "n", "split"])
