/**
 * Converts a sequence of a group to a data set sample: prompt and completion, as messages, or as text from its own
 * tokens (as sampled, special tokens included) or from its chat through the tokenizer's chat template.
 */
import { Message, type ScoredGroup, type Tokenizer } from "@atropos/core"
import { Result } from "effect"
import * as Rendering from "./Rendering.ts"
import * as TokenText from "./TokenText.ts"
import * as Turns from "./Turns.ts"

/** Why a sequence cannot be a sample of this form. */
export type Reason =
  | "no_messages"
  | "no_tokens"
  | "nothing_written"
  | "too_long"
  | "template_misfit"
  | "template_omits"
  | "unclear_mask"
  | "pictures"

interface Scored {
  readonly index: number
  readonly score: number
}

export interface TextSample extends Scored {
  readonly _tag: "Text"
  readonly prompt: string
  readonly completion: string
  /**
   * Prompt and completion in turns, whose concatenation is the whole text. Absent if the chat template does not
   * separate them.
   */
  readonly segments?: ReadonlyArray<Rendering.Segment>
}

export interface ChatSample extends Scored {
  readonly _tag: "Chat"
  readonly whole: ReadonlyArray<Message.Message>
  readonly prompt: ReadonlyArray<Message.Message>
  readonly completion: ReadonlyArray<Message.Message>
  /** Indices of the completion's messages that the mask trains. */
  readonly trained: ReadonlyArray<number>
}

export type Sample = TextSample | ChatSample

export type Form =
  | {
      readonly _tag: "Messages"
      /** Counts the messages' tokens if a mask excludes some turns. */
      readonly tokenizer?: Tokenizer.TokenizerShape
    }
  | {
      readonly _tag: "Text"
      readonly tokenizer: Tokenizer.TokenizerShape
      readonly from: "tokens" | "messages"
      /** Drops a leading BOS token, which the tokenizer will add again, from text made of tokens. */
      readonly dropBos: boolean
    }

export interface Options {
  readonly form: Form
  readonly maxTokens: number
}

/** The samples of a group, one result per sequence. */
export const ofGroup = (
  group: ScoredGroup.ScoredGroup,
  { form, maxTokens }: Options
): ReadonlyArray<Result.Result<Sample, Reason>> => {
  const make = form._tag === "Text" && form.from === "tokens" ? fromTokens(group, form) : fromMessages(group, form)
  const hasPictures = (index: number): boolean => group.messages?.[index]?.some(Message.hasMedia) === true
  return Array.from(group.scores, (score, index) => {
    if (group.tokens[index]!.length > maxTokens) return Result.fail<Reason>("too_long")
    if (form._tag === "Text" && hasPictures(index)) return Result.fail<Reason>("pictures")
    return make({ index, score })
  })
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
    // A mask that includes the prompt does not separate it.
    const turns =
      spans[0]?.isTrained === true
        ? [
            { start: 0, end: prompt, isTrained: false },
            ...spans.filter(({ end }) => end > prompt).map((span) => ({ ...span, start: Math.max(span.start, prompt) }))
          ]
        : spans
    const texts = TokenText.cut(
      (ids) => tokenizer.decode(ids),
      whole.subarray(first),
      turns.slice(1).map(({ start }) => start - first)
    )
    const segments = texts.map((text, index): Rendering.Segment => ({ label: turns[index]!.isTrained, text }))
    return Result.succeed<Sample>({
      _tag: "Text",
      ...scored,
      prompt: segments[0]!.text,
      completion: texts.slice(1).join(""),
      segments
    })
  }
}

const fromMessages = ({ masks, messages, overrides }: ScoredGroup.ScoredGroup, form: Form): Make => {
  return (scored) => {
    const { index } = scored
    const whole = messages?.[index]
    if (whole === undefined || whole.length === 0) return Result.fail("no_messages")
    const rendering = form.tokenizer === undefined ? undefined : Rendering.make(form.tokenizer, whole)
    const trained = Turns.trained(whole, masks[index]!, () => rendering?.extents() ?? Turns.inBytes(whole))
    if (trained === undefined) return Result.fail("unclear_mask")
    const [first] = trained
    const last = trained.at(-1)
    if (first === undefined || last === undefined) return Result.fail("nothing_written")
    const chat: ChatSample = {
      _tag: "Chat",
      ...scored,
      whole,
      prompt: whole.slice(0, first),
      completion: whole.slice(first, last + 1),
      trained: trained.map((at) => at - first)
    }
    if (form._tag === "Messages" || rendering === undefined) return Result.succeed(chat)
    return textOf(chat, rendering, overrides?.[index]?.["finish_reason"] === "length")
  }
}

/**
 * Renders a chat as text through the chat template; fails if the template renders the prompt differently when more
 * messages follow, or omits a part of the chat.
 */
const textOf = (
  { completion: written, index, prompt: input, score, trained }: ChatSample,
  rendering: Rendering.Rendering,
  isCut: boolean
): Result.Result<Sample, Reason> => {
  const turns = rendering.turns(
    trained.map((at) => input.length + at),
    input.length + written.length,
    isCut
  )
  if (turns === undefined) return Result.fail("template_misfit")
  if (!rendering.isComplete(input.length + written.length)) return Result.fail("template_omits")
  const { prompt, segments, whole } = turns
  return Result.succeed({
    _tag: "Text",
    index,
    score,
    prompt,
    completion: whole.slice(prompt.length),
    ...(segments !== undefined && { segments })
  })
}
