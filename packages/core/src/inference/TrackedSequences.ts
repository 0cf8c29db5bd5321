/**
 * A session that records the exact tokens and logprobs of every call, over any number of turns and branches (the
 * original's managed server, atroposlib/envs/server_handling/managed_server.py).
 *
 * Guarantees: a call that continues a recorded sequence sends its tokens as sampled, never tokenised again; the first
 * answer replaces that sequence in place, further ones (n > 1) are appended, so a sequence keeps its index for ever and
 * every answer says which one it ended (`choice.sequence`); turns sampled earlier stay trained; calls may run at the
 * same time. A back end without token-level answers gives the same session with the tokenizer's tokens and without
 * logprobs.
 */
import { Effect, Option } from "effect"
import type { Backend } from "./backend/Backend.ts"
import * as TextSequences from "./TextSequences.ts"
import {
  type ChatRequest,
  type Choice,
  InferenceError,
  type SamplingOptions,
  type TextRequest,
  type TokenChoice,
  type TrackedSession
} from "./backend/Inference.ts"
import type { Message } from "../Message.ts"
import { text as textOf } from "../Message.ts"
import * as PromptEncoder from "./tokenizer/PromptEncoder.ts"
import * as Sampling from "../Sampling.ts"
import * as SequenceLimit from "./SequenceLimit.ts"
import type { TokenizerShape } from "./tokenizer/Tokenizer.ts"
import * as ToolCalls from "./ToolCalls.ts"
import * as TrackedSequence from "./TrackedSequence.ts"

/** A tracked session whose sequences can be looked at unchecked. */
export interface TrackedSequences extends TrackedSession {
  readonly sequences: Effect.Effect<ReadonlyArray<TrackedSequence.TrackedSequence>>
}

export interface Options {
  readonly backend: Pick<Backend, "tokens" | "server">
  readonly tokenizer: TokenizerShape
  /** Keeps `<think>` blocks of earlier turns in the prompt even where the chat template drops them. Default true. */
  readonly preserveThinkBlocks?: boolean
}

/** A session over whatever the back end can do: exact tokens, else the tokenizer's. */
export const session = (options: {
  readonly backend: Backend
  readonly tokenizer: TokenizerShape | undefined
  readonly preserveThinkBlocks?: boolean
}): TrackedSession => {
  const { backend, tokenizer } = options
  return backend.capabilities.tokens && tokenizer !== undefined
    ? make({ ...options, tokenizer })
    : TextSequences.make({ backend, tokenizer })
}

/** A session over token-level answers. */
export const make = ({ backend, preserveThinkBlocks = true, tokenizer }: Options): TrackedSequences => {
  const sequences: Array<TrackedSequence.TrackedSequence> = []
  const translator = ToolCalls.makeTranslator()
  const encoder = PromptEncoder.make(tokenizer)
  const failure = (reason: "unsupported" | "malformed", message: string): InferenceError =>
    new InferenceError({ reason, server: backend.server, message })

  /** Samples a prompt and records what came back; nothing is written before the answer is there. */
  const sample = Effect.fnUntraced(function* (
    request: ChatRequest | TextRequest,
    prompt: TrackedSequence.Prompt,
    keepSpecialTokens: boolean,
    answer: (sampled: TokenChoice, text: string) => Effect.Effect<Answered>
  ) {
    const from = TrackedSequence.continuation(tokenizer, encoder, sequences, prompt)
    const inputIds = from?.inputIds ?? encoder.whole(prompt.text)
    if (from === undefined) yield* reportRewrittenHistory(tokenizer, sequences, prompt)
    const maxTokens = yield* SequenceLimit.maxTokens(backend.server, inputIds.length, request.maxTokens)
    const sampled = yield* backend.tokens({
      ...samplingOf(request),
      ...(maxTokens !== undefined && { maxTokens }),
      inputIds,
      origin: request
    })
    const answers = yield* Effect.forEach(sampled, (one) => {
      const texts = TrackedSequence.completionTexts(tokenizer, one.tokens, keepSpecialTokens)
      return Effect.map(answer(one, texts.visible), (answered) => ({ answered, one, texts }))
    })
    return answers.map(({ answered, one, texts }, index): Choice => {
      const { choice, messages, rendered } = answered
      const sequence = TrackedSequence.extend({ prompt, inputIds, from, sampled: one, texts, messages, rendered })
      return { ...choice, sequence: record(sequence, index === 0 ? from : undefined) }
    })
  })

  /** Puts a sequence in the place of what it extends, unless another call was faster. */
  const record = (
    sequence: TrackedSequence.TrackedSequence,
    from: TrackedSequence.Continuation | undefined
  ): number => {
    const replaced = from?.kept === from?.base.tokens.length ? sequences.findIndex((one) => one === from?.base) : -1
    const at = replaced === -1 ? sequences.length : replaced
    sequences[at] = sequence
    return at
  }

  const chat = Effect.fn("TrackedSequences.chat")(function* (request: ChatRequest) {
    const { messages, toolChoice, tools = [] } = request
    const rendered = translator.toText(messages)
    const prompt = renderPrompt(tokenizer, rendered, tools, preserveThinkBlocks)
    if (Option.isNone(prompt)) {
      return yield* failure(
        "unsupported",
        `the chat template of ${tokenizer.name} does not write the last assistant message as it is, so it cannot be continued`
      )
    }
    const last = messages.at(-1)
    const continued = last?.role === "assistant" ? last : undefined
    const answered = Effect.fnUntraced(function* (sampled: TokenChoice, text: string) {
      const { content, finishReason, toolCalls } =
        tools.length > 0 && toolChoice !== "none"
          ? yield* translator.parse(text, sampled.finishReason)
          : { content: text, finishReason: sampled.finishReason, toolCalls: [] }
      const message: Message = {
        role: "assistant",
        content,
        ...(toolCalls.length > 0 && { tool_calls: toolCalls })
      }
      const earlier = continued === undefined ? messages : messages.slice(0, -1)
      const spoken = continued === undefined ? "" : textOf(rendered.at(-1) ?? continued)
      return {
        choice: choiceOf(message, text, toolCalls, finishReason, sampled),
        messages: [
          ...earlier,
          continued === undefined ? message : Object.assign({}, message, { content: spoken + (content ?? "") })
        ],
        rendered: [...rendered.slice(0, earlier.length), { role: "assistant", content: spoken + text }]
      }
    })
    return yield* sample(request, { text: prompt.value, rendered }, tools.length > 0, answered)
  })

  const complete = Effect.fn("TrackedSequences.complete")((request: TextRequest) =>
    sample(request, { text: request.prompt }, false, (sampled, text) => {
      const message: Message = { role: "assistant", content: text }
      return Effect.succeed({
        choice: choiceOf(message, text, [], sampled.finishReason, sampled),
        messages: [{ role: "user", content: request.prompt }, message],
        rendered: undefined
      })
    })
  )

  const trajectories = Effect.suspend(() => {
    for (const [index, sequence] of sequences.entries()) {
      const problem = TrackedSequence.violation(sequence)
      if (problem !== undefined) return Effect.fail(failure("malformed", `sequence ${index}, ${problem}`))
      if (sequence.sampling === "mixed")
        return Effect.fail(failure("unsupported", `sequence ${index}: ${Sampling.mixed}`))
    }
    return Effect.succeed(sequences.map(TrackedSequence.toTrajectory))
  })

  return { chat, complete, trajectories, sequences: Effect.sync(() => sequences.slice()) }
}

/**
 * A template that rewrites earlier turns makes a new sequence of every turn: it works, but trains on overlapping text.
 */
const reportRewrittenHistory = (
  tokenizer: TokenizerShape,
  sequences: ReadonlyArray<TrackedSequence.TrackedSequence>,
  { rendered, text }: TrackedSequence.Prompt
): Effect.Effect<void> => {
  if (rendered === undefined) return Effect.void
  const index = sequences.findLastIndex(
    (one) => one.rendered !== undefined && TrackedSequence.repeats(rendered, one.rendered)
  )
  const recorded = sequences[index]?.text
  if (recorded === undefined) return Effect.void
  let at = 0
  while (at < recorded.length && recorded[at] === text[at]) at++
  return Effect.logWarning("chat template rewrites earlier turns, so the chat became a new sequence", {
    tokenizer: tokenizer.name,
    sequence: index,
    character: at,
    recorded: recorded.slice(Math.max(0, at - 20), at + 20),
    rendered: text.slice(Math.max(0, at - 20), at + 20)
  })
}

interface Answered {
  readonly choice: Choice
  readonly messages: ReadonlyArray<Message>
  readonly rendered: ReadonlyArray<Message> | undefined
}

const choiceOf = (
  message: Message,
  text: string,
  toolCalls: Choice["toolCalls"],
  finishReason: Choice["finishReason"],
  { policyVersion, sampling }: TokenChoice
): Choice => ({
  message,
  text,
  toolCalls,
  finishReason,
  ...(policyVersion !== undefined && { policyVersion }),
  ...(sampling !== undefined && { sampling })
})

const samplingOf = (request: ChatRequest | TextRequest): SamplingOptions => {
  const { extra, maxTokens, minP, n, seed, split, stop, temperature, topK, topP } = request
  return {
    ...(extra !== undefined && { extra }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(minP !== undefined && { minP }),
    ...(n !== undefined && { n }),
    ...(seed !== undefined && { seed }),
    ...(split !== undefined && { split }),
    ...(stop !== undefined && { stop }),
    ...(temperature !== undefined && { temperature }),
    ...(topK !== undefined && { topK }),
    ...(topP !== undefined && { topP })
  }
}

// Many templates cut reasoning out of earlier turns; words they do not know pass through them untouched.
const thinkWords = [
  ["<think>", "__ATROPOS_THINK__"],
  ["</think>", "__ATROPOS_END_THINK__"]
] as const

const protectThinking = (message: Message): Message =>
  message.role === "assistant" && typeof message.content === "string" && message.content.includes("<think>")
    ? Object.assign({}, message, {
        content: thinkWords.reduce((text, [tag, word]) => text.replaceAll(tag, word), message.content)
      })
    : message

/**
 * The prompt of a chat; a final assistant message is left open, so that the model goes on with it. None where the
 * template does not write it as it is.
 */
const renderPrompt = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  tools: ReadonlyArray<unknown>,
  preserveThinkBlocks: boolean
): Option.Option<string> => {
  const turns = preserveThinkBlocks ? messages.map(protectThinking) : messages
  const render = (chat: ReadonlyArray<Message>, addGenerationPrompt: boolean): string =>
    tokenizer.applyChatTemplate(chat, { addGenerationPrompt, ...(tools.length > 0 && { tools }) })
  const unprotected = (text: string): string =>
    thinkWords.reduce((partly, [tag, word]) => partly.replaceAll(word, tag), text)

  const last = turns.at(-1)
  if (last?.role !== "assistant") return Option.some(unprotected(render(turns, true)))
  const words = textOf(last)
  // A blank beginning of an answer is the template's own opening.
  if (words.trim() === "") return Option.some(unprotected(render(turns.slice(0, -1), true)) + words)
  const closed = render(turns, false)
  // Templates that trim a message leave its trailing blanks out; the model has to see them.
  const verbatim = [words, words.trimEnd(), words.trim()].find((part) => closed.includes(part))
  return verbatim === undefined
    ? Option.none()
    : Option.some(
        unprotected(closed.slice(0, closed.lastIndexOf(verbatim) + verbatim.length)) +
          (verbatim === words ? "" : words.slice(words.trimEnd().length))
      )
}
