/**
 * Adapts the roles of a chat to what its model's chat template renders, so that the prompt has every text that was
 * sent: templates refuse or silently drop system messages that are not first, and some refuse two messages of the user
 * in a row.
 *
 * A template is tested once, with marked messages. Where it loses a mark, moves it or refuses, leading system messages
 * are joined into one, later ones become text of the user, next to the user's message if there is one, and messages of
 * the user in a row are joined. The result depends only on the messages up to the next answer: a chat that extends
 * another is adapted to one that extends it, too.
 */
import { Effect, Result } from "effect"
import type { ContentPart, Message } from "../trajectory/Message.ts"
import { assistant, system, text as textOf, user } from "../trajectory/Message.ts"
import * as Formats from "./format/Formats.ts"
import type { TokenizerShape } from "./tokenizer/Tokenizer.ts"
import * as ToolCalls from "./sequences/ToolCalls.ts"

/** What a template renders completely and in order. */
export interface Rendered {
  /** One system message at the start. */
  readonly system: boolean
  /** Several system messages at the start. */
  readonly systems: boolean
  /** System messages after others. */
  readonly laterSystem: boolean
  /** Several messages of the user in a row. */
  readonly users: boolean
  /** A user's message after the result of a call. */
  readonly userAfterTool: boolean
}

const everything: Rendered = { system: true, systems: true, laterSystem: true, users: true, userAfterTool: true }

export type Change = "system_merged" | "system_as_user" | "user_merged"

export interface Adapted {
  readonly messages: ReadonlyArray<Message>
  readonly changes: ReadonlySet<Change>
}

const mark = (index: number): string => `atropos mark ${index}.`
const id = "abcdefgh0"
const calling: Message = {
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "look_up", arguments: "{}" } }]
}
const result = (content: string): Message => ({ role: "tool", content, tool_call_id: id })
const tool = {
  type: "function",
  function: { name: "look_up", description: "Looks up.", parameters: { type: "object", properties: {} } }
}

const makers = { S: system, U: user, A: assistant, C: () => calling, T: result } as const

/** A chat by its roles: system, user, assistant, call, tool; each with a mark. */
const chatOf = (roles: string): ReadonlyArray<Message> =>
  roles.split("").map((role, index) => makers[role as keyof typeof makers](mark(index)))

/** Tests whether a template renders chats with all their texts, in order. */
const tester = (tokenizer: TokenizerShape, hasTools: boolean) => {
  const translator = ToolCalls.makeTranslator({ format: Formats.of(tokenizer), reasoning: "apart" })
  return (...all: ReadonlyArray<string>): boolean =>
    all.every((roles) => {
      const chat = chatOf(roles)
      const made = Result.try(() =>
        tokenizer.applyChatTemplate(translator.toText(chat), {
          addGenerationPrompt: true,
          ...(hasTools && { tools: [tool] })
        })
      )
      if (Result.isFailure(made)) return false
      let from = 0
      return roles.split("").every((role, index) => {
        if (role === "C") return true
        const at = made.success.indexOf(mark(index), from)
        from = at + 1
        return at !== -1
      })
    })
}

const test = (tokenizer: TokenizerShape, hasTools: boolean): Rendered => {
  const renders = tester(tokenizer, hasTools)
  // A template that refuses the plainest chat, for example one with tools, says so itself.
  if (!renders("U", "UAU")) return everything
  const rendersResults = renders("UCT")
  const isRendered = renders("SU")
  return {
    system: isRendered,
    systems: isRendered && renders("SSU"),
    laterSystem: isRendered && renders("SUS", "US", "SUASU", "UAS") && (!rendersResults || renders("SUCTS", "UCTSU")),
    users: renders("UU", "UAUU"),
    userAfterTool: !rendersResults || renders("UCTU")
  }
}

const known = new WeakMap<TokenizerShape, Map<boolean, Rendered>>()

/** What the tokenizer's template renders, for chats with or without tools. */
export const renderedBy = (tokenizer: TokenizerShape, hasTools: boolean): Rendered => {
  const tested = known.get(tokenizer) ?? new Map<boolean, Rendered>()
  known.set(tokenizer, tested)
  const rendered = tested.get(hasTools) ?? test(tokenizer, hasTools)
  tested.set(hasTools, rendered)
  return rendered
}

const partsOf = ({ content }: Message): ReadonlyArray<ContentPart> =>
  typeof content === "string" || content === null ? [{ type: "text", text: content ?? "" }] : content

/** A message with another's text before or behind its own. */
const joined = (message: Message, first: Message, second: Message): Message =>
  Object.assign({}, message, {
    content:
      Array.isArray(first.content) || Array.isArray(second.content)
        ? [...partsOf(first), { type: "text", text: "\n\n" }, ...partsOf(second)]
        : `${textOf(first)}\n\n${textOf(second)}`
  })

/** The messages as this template renders them; the same ones if it renders them as they are. */
export const adapt = (messages: ReadonlyArray<Message>, rendered: Rendered): Adapted => {
  const changes = new Set<Change>()
  const made: Array<Message> = []
  /** Texts of system messages that go into the user's message that follows, if one does. */
  let waiting: Message | undefined

  const put = (message: Message): void => {
    const last = made.at(-1)
    if (last?.role === "user" && message.role === "user" && !rendered.users) {
      changes.add("user_merged")
      made[made.length - 1] = joined(last, last, message)
    } else made.push(message)
  }
  const settle = (): void => {
    if (waiting === undefined) return
    const last = made.at(-1)
    if (last?.role === "tool" && !rendered.userAfterTool) made[made.length - 1] = joined(last, last, waiting)
    else put(waiting)
    waiting = undefined
  }

  for (const message of messages) {
    const last = made.at(-1)
    if (message.role === "system") {
      const isLeading = made.every(({ role }) => role === "system") && waiting === undefined
      if (isLeading && rendered.system) {
        if (last === undefined || rendered.systems) made.push(message)
        else {
          changes.add("system_merged")
          made[made.length - 1] = joined(last, last, message)
        }
      } else if (rendered.laterSystem) made.push(message)
      else {
        changes.add("system_as_user")
        const text = user(textOf(message))
        if (waiting !== undefined) waiting = joined(waiting, waiting, text)
        else if (last?.role === "user") made[made.length - 1] = joined(last, last, text)
        else waiting = text
      }
    } else if (message.role === "user" && waiting !== undefined) {
      put(joined(message, waiting, message))
      waiting = undefined
    } else {
      settle()
      put(message)
    }
  }
  settle()
  return changes.size === 0 ? { messages, changes } : { messages: made, changes }
}

const reported = new WeakSet<TokenizerShape>()

const explanation: { readonly [change in Change]: string } = {
  system_merged: "leading system messages are joined",
  system_as_user: "system messages after others are written as text of the user",
  user_merged: "messages of the user in a row are joined"
}

/** Adapts a chat to the tokenizer's template, and reports the first change for each tokenizer. */
export const of = (
  tokenizer: TokenizerShape,
  messages: ReadonlyArray<Message>,
  tools: ReadonlyArray<unknown>
): Effect.Effect<Adapted> =>
  Effect.suspend(() => {
    const adapted = adapt(messages, renderedBy(tokenizer, tools.length > 0))
    if (adapted.changes.size === 0 || reported.has(tokenizer)) return Effect.succeed(adapted)
    reported.add(tokenizer)
    return Effect.as(
      Effect.logInfo("the chat template does not render all roles of a chat", {
        tokenizer: tokenizer.name,
        changed: [...adapted.changes].map((change) => explanation[change]).join("; ")
      }),
      adapted
    )
  })
