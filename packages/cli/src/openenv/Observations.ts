/**
 * Converts turns of an episode to the observations of OpenEnv servers: `{ observation, reward, done }`, with
 * `metadata`, if any, both next to and within the observation.
 *
 * `prompt` is the text of the new messages, `messages` the messages themselves, `chat_tools` the callable tools
 * (OpenEnv clients recognise an answer to `list_tools` by `tools`). The reward is the environment's score and comes at
 * the end; its components are in `metadata.rewards`.
 */
import { Message } from "@atropos/core"
import { type Driven } from "@atropos/envs"
import { Predicate } from "effect"

type Values = { readonly [name: string]: unknown }

/** The data of an `observation` message, and the response body of reset and step. */
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

/** The observation for a policy that sends messages. */
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

/** The answer to `list_tools`; it does not step the episode. */
export const ofTools = (request: Pick<Driven.Asked, "tools">): Observed => ({
  observation: { metadata: {}, tools: toolsOf(request) },
  reward: null,
  done: false
})

/** Prefix of error results of our tools. */
const failing = "error: "

export const resultOf = (words: string): Values => ({
  content: [{ type: "text", text: words }],
  structured_content: { result: words },
  data: words,
  is_error: words.startsWith(failing)
})

/** A tool's result: the text of the new messages. */
export const toolWords = (turn: Driven.Turn): string => (turn.isOver ? "" : wordsOf(turn.messages))

/** The observation after an MCP call action. */
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
