/**
 * The text of a chat's prompt: all of it, or only what a new turn adds to it.
 *
 * A turn's part is had by rendering its messages behind a stand-in for the chat so far, which takes time by the new
 * messages alone. That is right where a template writes what follows an answer by what follows alone; templates differ,
 * so each is tried with chats that differ in all that comes before, once for every order of roles that follows. Where
 * one writes otherwise (it moves the tools to the last question, say), there is no part, and the whole has to be
 * rendered.
 */
import { Option, Result } from "effect"
import { assistant, type Message, system, text as textOf, user } from "../../Message.ts"
import type { TokenizerShape } from "./Tokenizer.ts"

export interface PromptOptions {
  readonly tools: ReadonlyArray<unknown>
  /** Keeps `<think>` blocks of earlier turns even where the template drops them. */
  readonly preserveThinkBlocks: boolean
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

const unprotected = (text: string): string =>
  text.includes("__ATROPOS_") ? thinkWords.reduce((partly, [tag, word]) => partly.replaceAll(word, tag), text) : text

/**
 * The prompt of a chat; a final assistant message is left open, so that the model goes on with it. None where the
 * template does not write it as it is.
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

/** Words that no chat has, and that no template changes. */
const question = "atropos stand-in question"
const answer = "atropos stand-in answer"
const standIn = [user(question), assistant(answer)]

/** What a prompt has behind the last answer of the stand-in; undefined where the template refuses or loses it. */
const behind = (
  tokenizer: TokenizerShape,
  before: ReadonlyArray<Message>,
  messages: ReadonlyArray<Message>,
  options: PromptOptions
): { readonly head: string; readonly rest: string } | undefined => {
  const rendered = Result.getOrUndefined(Result.try(() => whole(tokenizer, [...before, ...messages], options)))
  const text = rendered === undefined ? undefined : Option.getOrUndefined(rendered)
  const at = text?.indexOf(answer) ?? -1
  return text === undefined || at === -1 ? undefined : { head: text.slice(0, at), rest: text.slice(at + answer.length) }
}

/**
 * The text that the messages of a new turn add behind the words of the answer that they follow, the answer's end and
 * the opening of the next one included. None where this template's text depends on what came before, or is not known.
 */
export const part = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  options: PromptOptions
): Option.Option<string> =>
  options.preserveThinkBlocks && isLocal(tokenizer, messages, options)
    ? Option.fromUndefinedOr(behind(tokenizer, standIn, messages, options)?.rest)
    : Option.none()

const tried = new WeakMap<TokenizerShape, Map<string, boolean>>()

/** Whether what such messages add is the same whatever came before: tried once for their roles. */
const isLocal = (tokenizer: TokenizerShape, messages: ReadonlyArray<Message>, { tools }: PromptOptions): boolean => {
  const shapes = messages
    .map(shapeOf)
    .filter((shape, at, all) => at < 2 || shape !== all[at - 1] || shape !== all[at - 2])
  const key = JSON.stringify([tools.length > 0, shapes])
  const known = tried.get(tokenizer) ?? new Map<string, boolean>()
  tried.set(tokenizer, known)
  const before = known.get(key)
  if (before !== undefined) return before
  const found = tryOut(tokenizer, shapes.map(trial), tools.length > 0 ? trialTools : [])
  known.set(key, found)
  return found
}

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
/** What may come before: chats that differ in length, in a system prompt, in tools that were used. */
const contexts: ReadonlyArray<ReadonlyArray<Message>> = [
  [...earlier, ...standIn],
  [system("be brief"), ...standIn],
  [system("be brief"), ...earlier, ...earlier, ...standIn],
  [user("first"), assistant("a call"), { role: "tool", content: "found", tool_call_id: "abcdefghi" }, assistant(answer)]
]

const tryOut = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  tools: ReadonlyArray<unknown>
): boolean => {
  const options = { tools, preserveThinkBlocks: true }
  const expected = behind(tokenizer, standIn, messages, options)
  if (expected === undefined) return false
  return contexts.every((context, index) => {
    const beginning = context.slice(0, -1)
    const head = Result.getOrUndefined(
      Result.try(() =>
        tokenizer.applyChatTemplate(beginning, { addGenerationPrompt: false, ...(tools.length > 0 && { tools }) })
      )
    )
    // A template may know no system prompt or no tools; it must know chats of several turns.
    if (head === undefined) return index > 0
    const found = behind(tokenizer, context, messages, options)
    return found !== undefined && found.rest === expected.rest && found.head.startsWith(head)
  })
}
