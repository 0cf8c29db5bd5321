/**
 * What an episode says, as OpenEnv's servers put it: `{ observation, reward, done }`, with `metadata` beside and within
 * the observation where there is any.
 *
 * `prompt` is the text of what is new, `messages` the same as a chat, `chat_tools` what may be called (`tools` is what
 * OpenEnv's clients know an answer to `list_tools` by). The reward is the
 * environment's score and comes with the end; its components are `metadata.rewards`.
 */
import { type Driven, Message } from "@atropos/core"
import { Predicate } from "effect"

type Values = { readonly [name: string]: unknown }

/** The data of an `observation` message, and the body of an answer to reset and step. */
export interface Observed {
  readonly observation: Values
  readonly reward: number | null
  readonly done: boolean
  readonly metadata?: Values
}

const observed = (observation: Values, turn: Driven.Turn): Observed => {
  const metadata = metadataOf(turn)
  const isPlain = Object.keys(metadata).length === 0
  return {
    observation: { metadata, ...observation },
    reward: turn.isOver ? (turn.score ?? null) : null,
    done: turn.isOver,
    ...(!isPlain && { metadata })
  }
}

const metadataOf = (turn: Driven.Turn): Values =>
  turn.isOver
    ? {
        ...(turn.rewards !== undefined && { rewards: turn.rewards }),
        ...(turn.unscorable !== undefined && { unscorable: turn.unscorable })
      }
    : {}

/** What a policy that speaks is told. */
export const ofTurn = (turn: Driven.Turn): Observed =>
  observed(
    turn.isOver
      ? { prompt: null, messages: [], chat_tools: [] }
      : { prompt: wordsOf(turn.messages), messages: turn.messages, chat_tools: turn.tools },
    turn
  )

const wordsOf = (messages: ReadonlyArray<Message.Message>): string =>
  messages
    .map(Message.text)
    .filter((words) => words !== "")
    .join("\n\n")

/** A tool in the words of MCP environments. */
const toolOf = (tool: unknown): Values => {
  const described = Predicate.hasProperty(tool, "function") ? tool.function : tool
  const {
    description = "",
    name = "",
    parameters = {}
  }: Values = Predicate.isReadonlyObject(described) ? described : {}
  return { name, description, input_schema: parameters }
}

export const toolsOf = ({ tools }: Pick<Driven.Asked, "tools">): ReadonlyArray<Values> => tools.map(toolOf)

/** The answer to `list_tools`; it steps nothing. */
export const ofTools = (asked: Pick<Driven.Asked, "tools">): Observed => ({
  observation: { metadata: {}, tools: toolsOf(asked) },
  reward: null,
  done: false
})

/** What a tool of ours begins with that could not do what was asked. */
const failing = "error: "

/** The result of a tool as MCP writes it. */
export const resultOf = (words: string): Values => ({
  content: [{ type: "text", text: words }],
  structured_content: { result: words },
  data: words,
  is_error: words.startsWith(failing)
})

/** What a tool answered: the words of the messages that came. */
export const toolWords = (turn: Driven.Turn): string => (turn.isOver ? "" : wordsOf(turn.messages))

/** What a policy is told whose action was a call of MCP. */
export const ofCall = (tool: string, turn: Driven.Turn): Observed => {
  const words = toolWords(turn)
  const isFailed = words.startsWith(failing)
  return observed(
    {
      tool_name: tool,
      result: turn.isOver || isFailed ? null : resultOf(words),
      error: isFailed ? { error_type: "execution_error", message: words.slice(failing.length) } : null
    },
    turn
  )
}
