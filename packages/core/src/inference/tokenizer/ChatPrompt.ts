/**
 * Renders the text of a chat's prompt: all of it, or only what a new turn adds.
 *
 * A turn's part is obtained by rendering its messages after a stand-in for the earlier chat, in time proportional to
 * the new messages. This is valid if the template renders what follows an answer independently of what precedes it:
 * each template is tested with chats that differ in everything before, once for every order of roles that follows. If
 * it is not (for example if tools move to the last question), there is no part, and the whole chat must be rendered.
 */
import { Option, Result } from "effect"
import { assistant, type Message, system, text as textOf, user } from "../../trajectory/Message.ts"
import type { TokenizerShape } from "./Tokenizer.ts"

export interface PromptOptions {
  readonly tools: ReadonlyArray<unknown>
  /** Keeps `<think>` blocks of earlier turns even if the template drops them. */
  readonly preserveThinkBlocks: boolean
}

// Many templates remove reasoning from earlier turns; unknown text passes through them unchanged.
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

const unprotected = (text: string): string =>
  text.includes("__ATROPOS_") ? thinkWords.reduce((partly, [tag, word]) => partly.replaceAll(word, tag), text) : text

/**
 * The prompt of a chat; a final assistant message is left open, so that the model continues it. None if the template
 * does not render it verbatim.
 */
export const whole = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  { preserveThinkBlocks, tools }: PromptOptions
): Option.Option<string> => {
  const turns = preserveThinkBlocks ? messages.map(protectThinking) : messages
  const render = (chat: ReadonlyArray<Message>, addGenerationPrompt: boolean): string =>
    tokenizer.applyChatTemplate(chat, { addGenerationPrompt, ...(tools.length > 0 && { tools }) })

  const last = turns.at(-1)
  if (last?.role !== "assistant") return Option.some(unprotected(render(turns, true)))
  const words = textOf(last)
  // A blank prefill is the template's own opening.
  if (words.trim() === "") return Option.some(unprotected(render(turns.slice(0, -1), true)) + words)
  const closed = render(turns, false)
  // Templates that trim a message drop its trailing whitespace; the model must see it.
  const verbatim = [words, words.trimEnd(), words.trim()].find((part) => closed.includes(part))
  return verbatim === undefined
    ? Option.none()
    : Option.some(
        unprotected(closed.slice(0, closed.lastIndexOf(verbatim) + verbatim.length)) +
          (verbatim === words ? "" : words.slice(words.trimEnd().length))
      )
}

/** An answer followed by new messages, if the template gets its calls rather than their text. */
export interface Called {
  /** As passed to the template. */
  readonly message: Message
  /** The text of the token that ended it. */
  readonly end: string
}

/**
 * The text that a new turn's messages add after the text of the answer they follow, including the answer's end and the
 * opening of the next one. None if this template's text depends on what came before, or is unknown.
 */
export const part = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  options: PromptOptions,
  called?: Called
): Option.Option<string> => {
  if (!options.preserveThinkBlocks || !isLocal(tokenizer, messages, options, called !== undefined)) return Option.none()
  return Option.fromUndefinedOr(
    called === undefined
      ? behind(tokenizer, [standInQuestion, standInAnswer], messages, options)?.rest
      : behindCalls(tokenizer, called, messages, options)
  )
}

/** Text that no chat contains and no template changes. */
const words = "atropos stand-in answer"
const standInQuestion = user("atropos stand-in question")
const standInAnswer = assistant(words)
const standInCall: Message = {
  role: "assistant",
  content: null,
  tool_calls: [
    { id: "abcdefgh0", type: "function", function: { name: "look_up", arguments: JSON.stringify({ key: words }) } }
  ]
}

const rendered = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  options: PromptOptions
): string | undefined => {
  // The template may accept the whole chat even if it rejects this part.
  const made = Result.getOrUndefined(Result.try(() => whole(tokenizer, messages, options)))
  return made === undefined ? undefined : Option.getOrUndefined(made)
}

/** A chat as rendered when nothing follows; undefined if the template rejects it. */
const closed = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  { tools }: PromptOptions
): string | undefined =>
  Result.getOrUndefined(
    Result.try(() =>
      tokenizer.applyChatTemplate(messages, { addGenerationPrompt: false, ...(tools.length > 0 && { tools }) })
    )
  )

/** The parts of a prompt before and after the stand-in's text. */
const behind = (
  tokenizer: TokenizerShape,
  before: ReadonlyArray<Message>,
  messages: ReadonlyArray<Message>,
  options: PromptOptions
): { readonly head: string; readonly rest: string } | undefined => {
  const text = rendered(tokenizer, [...before, ...messages], options)
  const at = text?.indexOf(words) ?? -1
  return text === undefined || at === -1 ? undefined : { head: text.slice(0, at), rest: text.slice(at + words.length) }
}

/** The part of a prompt after an answer's calls, from that answer's end on. */
const behindCalls = (
  tokenizer: TokenizerShape,
  { end, message }: Called,
  messages: ReadonlyArray<Message>,
  options: PromptOptions
): string | undefined => {
  const before = closed(tokenizer, [standInQuestion, message], options)
  const all = rendered(tokenizer, [standInQuestion, message, ...messages], options)
  if (before === undefined || all === undefined || end === "" || !all.startsWith(before)) return undefined
  const at = before.lastIndexOf(end)
  // At most a line break follows the end of an answer.
  return at === -1 || before.slice(at + end.length).trim() !== "" ? undefined : all.slice(at)
}

const tried = new WeakMap<TokenizerShape, Map<string, boolean>>()

/** True if what such messages add does not depend on what came before; tested once per sequence of roles. */
const isLocal = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  { tools }: PromptOptions,
  isCalled: boolean
): boolean => {
  // More than two consecutive messages of the same kind add no information.
  const shapes = messages
    .map(shapeOf)
    .filter((shape, at, all) => at < 2 || shape !== all[at - 1] || shape !== all[at - 2])
  const key = JSON.stringify([tools.length > 0, isCalled, shapes])
  const known = tried.get(tokenizer) ?? new Map<string, boolean>()
  tried.set(tokenizer, known)
  const found = known.get(key) ?? tryOut(tokenizer, shapes.map(trial), tools.length > 0 ? trialTools : [], isCalled)
  if (known.size < maxShapes) known.set(key, found)
  return found
}

/** Bounds the cache: clients choose the roles freely. */
const maxShapes = 512

const shapeOf = ({ content, reasoning_content: reasoning, role, tool_calls: calls }: Message): string =>
  [
    role,
    ...(calls === undefined || calls.length === 0 ? [] : [`calls:${Math.min(2, calls.length)}`]),
    ...(reasoning === undefined || reasoning === null ? [] : ["reasoning"]),
    ...(content === null ? ["null"] : [])
  ].join(" ")

const trialTools: ReadonlyArray<unknown> = [
  { type: "function", function: { name: "look_up", description: "Looks up.", parameters: { type: "object" } } }
]

const trial = (shape: string, index: number): Message => {
  const [role = "user", ...others] = shape.split(" ")
  const calls = others.find((one) => one.startsWith("calls:"))
  const count = calls === undefined ? 0 : Number(calls.slice(-1))
  return {
    role,
    content: others.includes("null") ? null : `  trial ${index}\n`,
    ...(others.includes("reasoning") && { reasoning_content: `thought ${index}` }),
    ...(role === "tool" && { name: "look_up", tool_call_id: `abcdefgh${index % 10}` }),
    ...(count > 0 && {
      tool_calls: Array.from({ length: count }, (_, at) => ({
        id: `abcdefg${index % 10}${at}`,
        type: "function",
        function: { name: "look_up", arguments: '{"key": 1}' }
      }))
    })
  }
}

const earlier = [user("  first\n"), assistant("one"), user("second"), assistant("two")]
const looked: ReadonlyArray<Message> = [
  user("first"),
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "abcdefghi", type: "function", function: { name: "look_up", arguments: '{"key": 2}' } }]
  },
  { role: "tool", name: "look_up", content: "found", tool_call_id: "abcdefghi" },
  assistant("three")
]
/** Possible preceding chats: of different lengths, with a system prompt, with used tools. */
const contexts: ReadonlyArray<ReadonlyArray<Message>> = [
  [...earlier, standInQuestion],
  [system("be brief"), standInQuestion],
  [system("be brief"), ...earlier, ...earlier, standInQuestion],
  [...looked, standInQuestion],
  looked.slice(0, -1)
]

/**
 * Ignores whitespace and reasoning tags, which some templates write around earlier turns depending on what follows;
 * these blocks are kept.
 */
const withoutThinking = (text: string): string =>
  text.replaceAll("<think>", "").replaceAll("</think>", "").replace(/\s/g, "")

const tryOut = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  tools: ReadonlyArray<unknown>,
  isCalled: boolean
): boolean => {
  const options = { tools, preserveThinkBlocks: true }
  const last = isCalled ? standInCall : standInAnswer
  const expected = behind(tokenizer, [standInQuestion, last], messages, options)
  if (expected === undefined) return false
  return contexts.every((context, index) => {
    const head = closed(tokenizer, context, options)
    // A template may not support system prompts or tools; it must support multi-turn chats.
    if (head === undefined) return index > 0
    const found = behind(tokenizer, [...context, last], messages, options)
    return (
      found !== undefined &&
      found.rest === expected.rest &&
      withoutThinking(found.head).startsWith(withoutThinking(head))
    )
  })
}
