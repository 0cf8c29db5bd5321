/**
 * Converts requests to token ids: what repeats the session's tree is reused as sampled, what is new is rendered and
 * encoded.
 *
 * Uses the first possible way of three: a prompt sent before is sent again unchanged; only the new messages are
 * rendered and appended to the answer they follow; the whole chat is rendered, and the answers that its text still
 * begins with (possibly none) are reused.
 */
import { Option, Result } from "effect"
import type { ChatRequest } from "../wire/Inference.ts"
import { type Message, text as textOf } from "../../trajectory/Message.ts"
import * as ChatPrompt from "../tokenizer/ChatPrompt.ts"
import type { PromptEncoder } from "../tokenizer/PromptEncoder.ts"
import * as Relation from "../session/Relation.ts"
import type { Match, Prompt, SessionTree } from "../session/SessionTree.ts"
import * as TokenText from "./TokenText.ts"
import * as TokenTree from "./TokenTree.ts"
import * as Reason from "../../base/Reason.ts"
import type { TokenizerShape } from "../tokenizer/Tokenizer.ts"

type Tree = SessionTree<TokenTree.PromptTokens, TokenTree.AnswerTokens>
type TokenPlace = Match<TokenTree.PromptTokens, TokenTree.AnswerTokens>

/** A prompt ready to be sent. */
export interface Prepared {
  readonly prompt: TokenTree.TokenPrompt | Omit<TokenTree.TokenPrompt, "answers">
  readonly relation: Relation.Relation
  /** Set if the template rendered a recorded turn differently. */
  readonly warning: { readonly sequence: number; readonly recorded: string; readonly rendered: string } | undefined
}

export interface TokenPrompts {
  /** Fails with a description of the problem with the chat. */
  readonly chat: (request: ChatRequest) => Result.Result<Prepared, string>
  readonly text: (prompt: string) => Prepared
}

export interface Options {
  readonly tree: Tree
  readonly tokenizer: TokenizerShape
  readonly encoder: PromptEncoder
  readonly preserveThinkBlocks: boolean
  /** Messages as passed to the template. */
  readonly toText: (messages: ReadonlyArray<Message>) => ReadonlyArray<Message>
  /** True if the template accepts any model output as the content of a message. */
  readonly isContent: boolean
}

export const make = (options: Options): TokenPrompts => {
  const { encoder, isContent, preserveThinkBlocks, toText, tokenizer, tree } = options
  /** The whole chat as text, with this session's answers as sampled. */
  const render = (
    { answer, repeated }: TokenPlace,
    messages: ReadonlyArray<Message>,
    tools: ReadonlyArray<unknown>
  ): Result.Result<string, string> => {
    const spoken = Array.from(messages)
    let at = repeated - 1
    for (let one = answer; one !== undefined; one = one.prompt.parent) {
      spoken[at] = isContent ? { role: "assistant", content: wordsOf(one) } : one.message
      at -= one.prompt.asked.length + (one.prompt.isOpen ? 0 : 1)
    }
    return rendered(tokenizer, () => ChatPrompt.whole(tokenizer, toText(spoken), { tools, preserveThinkBlocks }))
  }

  /** The nearest answer that the text of a whole prompt continues. */
  const continuation = ({ answer }: TokenPlace, text: string): TokenText.Continuation | undefined => {
    const match = TokenText.make(tokenizer, text)
    for (let one = answer; one !== undefined; one = one.prompt.parent) {
      const found = match.after(one, true)
      if (found !== undefined) return found
    }
    return undefined
  }

  const whole = (
    place: TokenPlace,
    messages: ReadonlyArray<Message>,
    tools: ReadonlyArray<unknown>
  ): Result.Result<{ readonly data: TokenTree.PromptTokens; readonly text: string }, string> =>
    Result.map(render(place, messages, tools), (text) => {
      const found = continuation(place, text)
      const data =
        found === undefined
          ? tokensOf(encoder.whole(text), undefined, { text, isChat: true })
          : tokensOf(encoder.rest(found.rest), found.base, { text: TokenText.own(found.rest), isChat: true })
      return { data, text }
    })

  /** The text that new messages add after an answer. */
  const partOf = (
    answer: TokenTree.TokenAnswer,
    fresh: ReadonlyArray<Message>,
    tools: ReadonlyArray<unknown>
  ): Option.Option<string> => {
    if (fresh.length === 0) return Option.some("")
    const options = { tools, preserveThinkBlocks }
    const isCalled = !isContent && fresh[0]?.role === "tool" && answer.message.tool_calls !== undefined
    if (!isCalled) return ChatPrompt.part(tokenizer, toText(fresh), options)
    const { ids, isEnded } = answer.data
    // Reasoning precedes the calls, and is not needed to render what follows them.
    const { reasoning_content: _, ...message } = answer.message
    const [followed, ...others] = toText([message, ...fresh])
    const called = { message: followed ?? message, end: isEnded ? tokenizer.decode(ids.subarray(-1)) : "" }
    return ChatPrompt.part(tokenizer, others, options, called)
  }

  /** The text that the new messages add, if they can be rendered alone. */
  const part = (
    { answer, repeated }: TokenPlace,
    messages: ReadonlyArray<Message>,
    tools: ReadonlyArray<unknown>
  ): TokenTree.PromptTokens | undefined => {
    if (answer === undefined || !preserveThinkBlocks) return undefined
    const text = partOf(answer, messages.slice(repeated), tools)
    if (Option.isNone(text)) return undefined
    const { base, rest } = TokenText.behindWords(tokenizer, answer, text.value)
    return tokensOf(encoder.rest(rest), base, { text: undefined, isChat: true })
  }

  const chat = ({ messages, tools = [] }: ChatRequest): Result.Result<Prepared, string> => {
    const place = tree.find(messages, tools)
    const relation = Relation.of(tree, place, messages)
    if (place.prompt !== undefined) {
      return Result.succeed({ prompt: place.prompt, relation, warning: undefined })
    }
    const { answer } = place
    // Tools that are sent with every request are stored once.
    const around = positionOf(place, messages, answer?.prompt.tools ?? tools)
    const added = part(place, messages, around.tools)
    if (added !== undefined) {
      const isCut = added.base?.answer === answer && added.base?.kept !== answer?.data.ids.length
      return Result.succeed({
        prompt: { ...around, data: added },
        relation: isCut && relation === "extended" ? "branched" : relation,
        warning: undefined
      })
    }
    return Result.map(whole(place, messages, around.tools), ({ data, text }): Prepared => {
      const isRewritten = answer !== undefined && data.base?.answer !== answer
      return {
        prompt: { ...around, data },
        relation: isRewritten ? "rewritten" : relation,
        warning: isRewritten ? difference(tokenizer, answer, text) : undefined
      }
    })
  }

  return { chat, text: (prompt) => ofText(options, prompt) }
}

/** A text completion's prompt: continues the recorded prefix with the most tokens. */
const ofText = ({ encoder, tokenizer, tree }: Options, prompt: string): Prepared => {
  const match = TokenText.make(tokenizer, prompt)
  const again = tree.answers.find(({ prompt }) => !prompt.data.isChat && match.is(prompt))
  if (again !== undefined) return { prompt: again.prompt, relation: "retried", warning: undefined }
  let best: TokenText.Continuation | undefined
  for (const answer of tree.answers) {
    const found = match.after(answer, false)
    if (found !== undefined && (best === undefined || TokenTree.lengthOf(best.base) < TokenTree.lengthOf(found.base)))
      best = found
  }
  const data =
    best === undefined
      ? tokensOf(encoder.whole(prompt), undefined, { text: prompt, isChat: false })
      : tokensOf(encoder.rest(best.rest), best.base, { text: TokenText.own(best.rest), isChat: false })
  const parent = best?.base.answer
  const isTip = parent !== undefined && tree.tips[parent.sequence] === parent && parent.prompts.length === 0
  const relation = parent === undefined ? "started" : isTip ? "extended" : "branched"
  return { prompt: { parent, asked: [], isOpen: false, tools: [], data }, relation, warning: undefined }
}

/** The stored form of a prompt that follows other tokens. */
const tokensOf = (
  ids: ReadonlyArray<number>,
  base: TokenTree.Base | undefined,
  piece: Pick<TokenTree.PromptTokens, "text" | "isChat">
): TokenTree.PromptTokens => {
  const own = Int32Array.from(ids)
  const before = TokenTree.lengthOf(base)
  const sum =
    base === undefined
      ? TokenTree.seed
      : TokenTree.checksum(base.answer.prompt.data.checksum, base.answer.data.ids, 0, base.kept)
  return { base, ids: own, length: before + own.length, checksum: TokenTree.checksum(sum, own), ...piece }
}

/** The position of a new prompt in the tree. */
const positionOf = (
  { answer, repeated }: TokenPlace,
  messages: ReadonlyArray<Message>,
  tools: ReadonlyArray<unknown>
): Pick<Prompt<unknown, never>, "isOpen" | "asked"> & Pick<TokenTree.TokenPrompt, "parent" | "tools"> => {
  const fresh = messages.slice(repeated)
  const isOpen = messages.at(-1)?.role === "assistant"
  if (fresh.length > 0 || answer === undefined) return { parent: answer, asked: fresh, isOpen, tools }
  // The chat ends with an answer to be continued: it is a sibling of that answer, not its successor.
  const { asked, isOpen: wasOpen, parent } = answer.prompt
  return { parent, asked: [...(wasOpen ? asked.slice(0, -1) : asked), answer.message], isOpen: true, tools }
}

/** An answer's text, including a prefill. */
const wordsOf = ({ prompt: { asked, data, isOpen, parent }, text }: TokenTree.TokenAnswer): string => {
  const opening = isOpen ? asked.at(-1) : undefined
  if (opening === undefined) return text
  const { base } = data
  const isOfSession = base !== undefined && base.answer !== parent && data.ids.length === 0
  return (isOfSession ? wordsOf(base.answer) : textOf(opening)) + text
}

/** The point at which the text of a whole prompt diverges from the recorded one. */
const difference = (tokenizer: TokenizerShape, answer: TokenTree.TokenAnswer, text: string): Prepared["warning"] => {
  const recorded = TokenText.promptText(tokenizer, answer.prompt.data) + answer.text
  let at = 0
  while (at < recorded.length && recorded[at] === text[at]) at++
  const around = (one: string): string => one.slice(Math.max(0, at - 20), at + 20)
  return { sequence: answer.sequence, recorded: around(recorded), rendered: around(text) }
}

const rendered = (tokenizer: TokenizerShape, render: () => Option.Option<string>): Result.Result<string, string> =>
  Result.flatMap(
    Result.try({ try: render, catch: Reason.of }),
    Option.match({
      onNone: () =>
        Result.fail(
          `the chat template of ${tokenizer.name} changes the last assistant message, so it cannot be continued`
        ),
      onSome: (text) => Result.succeed(text)
    })
  )
