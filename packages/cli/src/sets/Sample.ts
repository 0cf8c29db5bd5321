/**
 * A sequence of a group as a data set has it: prompt and completion, as text or as messages.
 *
 * Text comes from the sequence's own tokens (exactly what was sampled, special tokens written out), or from its chat
 * through the tokenizer's chat template.
 */
import type { Message, ScoredGroup, Tokenizer } from "@atropos/core"
import { Result } from "effect"
import * as Chat from "./Chat.ts"
import * as TokenText from "./TokenText.ts"

/** Why a sequence cannot be in a data set of this form. */
export type Reason = "no_messages" | "no_tokens" | "nothing_written" | "too_long" | "template_misfit"

interface Scored {
  readonly index: number
  readonly score: number
}

/** A part of a text, and whether the model wrote it. */
export interface Segment {
  readonly label: boolean
  readonly text: string
}

export interface TextSample extends Scored {
  readonly _tag: "Text"
  readonly prompt: string
  readonly completion: string
  /** Prompt and completion in turns; joined they are the whole. */
  readonly segments: ReadonlyArray<Segment>
}

export interface ChatSample extends Scored {
  readonly _tag: "Chat"
  /** The chat as it came. */
  readonly whole: ReadonlyArray<Message.Message>
  readonly prompt: ReadonlyArray<Message.Message>
  readonly completion: ReadonlyArray<Message.Message>
}

export type Sample = TextSample | ChatSample

/** What data sets are made of. */
export type Form =
  | { readonly _tag: "Messages" }
  | {
      readonly _tag: "Text"
      readonly tokenizer: Tokenizer.TokenizerShape
      readonly from: "tokens" | "messages"
      /** A mark of the beginning of a text that the tokenizer will add again is left out of text made of tokens. */
      readonly dropBos: boolean
    }

export interface Options {
  readonly form: Form
  /** Sequences with more tokens are too long. */
  readonly maxTokens: number
}

/** The samples of a group, one result per sequence. */
export const ofGroup = (
  group: ScoredGroup.ScoredGroup,
  { form, maxTokens }: Options
): ReadonlyArray<Result.Result<Sample, Reason>> => {
  const make = form._tag === "Text" && form.from === "tokens" ? fromTokens(group, form) : fromMessages(group, form)
  return Array.from(group.scores, (score, index) =>
    group.tokens[index]!.length > maxTokens ? Result.fail<Reason>("too_long") : make({ index, score })
  )
}

type Make = (scored: Scored) => Result.Result<Sample, Reason>
type TextForm = Extract<Form, { readonly _tag: "Text" }>

const fromTokens = ({ masks, tokens }: ScoredGroup.ScoredGroup, { dropBos, tokenizer }: TextForm): Make => {
  const prompts = TokenText.promptLengths(tokens, masks)
  const bos = tokenizer.bosTokenId
  const addsBos = dropBos && bos !== undefined && tokenizer.encode("", { addSpecialTokens: true })[0] === bos
  return (scored) => {
    const whole = tokens[scored.index]!
    if (whole.length === 0) return Result.fail("no_tokens")
    const prompt = prompts[scored.index]
    if (prompt === undefined) return Result.fail("nothing_written")
    const first = addsBos && whole[0] === bos && prompt > 0 ? 1 : 0
    const spans = TokenText.spans(masks[scored.index]!)
    // A mask that takes everything for written does not tell the turns apart.
    const turns =
      spans[0]?.isTrained === true
        ? [
            { start: 0, end: prompt, isTrained: false },
            { start: prompt, end: whole.length, isTrained: true }
          ]
        : spans
    const texts = TokenText.cut(
      (ids) => tokenizer.decode(ids),
      whole.subarray(first),
      turns.slice(1).map(({ start }) => start - first)
    )
    const segments = texts.map((text, index): Segment => ({ label: turns[index]!.isTrained, text }))
    return Result.succeed<Sample>({
      _tag: "Text",
      ...scored,
      prompt: segments[0]!.text,
      completion: texts.slice(1).join(""),
      segments
    })
  }
}

const fromMessages = ({ masks, messages }: ScoredGroup.ScoredGroup, form: Form): Make => {
  return (scored) => {
    const whole = messages?.[scored.index]
    if (whole === undefined || whole.length === 0) return Result.fail("no_messages")
    const turns = TokenText.spans(masks[scored.index]!).filter(({ isTrained }) => isTrained).length
    const length = Chat.promptLength(whole, turns)
    if (length === undefined) return Result.fail("nothing_written")
    const prompt = whole.slice(0, length)
    const completion = Chat.untilLastTurn(whole).slice(length)
    const chat: ChatSample = { _tag: "Chat", ...scored, whole, prompt, completion }
    return form._tag === "Messages" ? Result.succeed(chat) : rendered(chat, form.tokenizer)
  }
}

/**
 * A chat as text through the chat template; a template that renders the prompt differently once more follows has no
 * text of it.
 */
const rendered = (chat: ChatSample, { applyChatTemplate }: Tokenizer.TokenizerShape): Result.Result<Sample, Reason> => {
  const { completion: written, index, prompt: given, score } = chat
  const text = Result.try(() => ({
    prompt: applyChatTemplate(given.map(Chat.plain), { addGenerationPrompt: true }),
    whole: applyChatTemplate([...given, ...written].map(Chat.plain), { addGenerationPrompt: false })
  }))
  if (Result.isFailure(text) || !text.success.whole.startsWith(text.success.prompt)) {
    return Result.fail("template_misfit")
  }
  const { prompt, whole } = text.success
  const completion = whole.slice(prompt.length)
  return Result.succeed({
    _tag: "Text",
    index,
    score,
    prompt,
    completion,
    segments: [
      { label: false, text: prompt },
      { label: true, text: completion }
    ]
  })
}
