/**
 * Runs one episode on a session: reset, then answers and actions until the server, or a limit, ends it.
 *
 * The score is the sum of the rewards of its steps. If the last observation's metadata has reward components
 * (`rewards`, as `atropos openenv` serves them), they are added as components.
 */
import { type Environment, Message, RewardComponents, ServerManager, type Trajectory } from "@atropos/core"
import * as Episode from "../kit/Episode.ts"
import * as Toolbox from "../kit/tools/Toolbox.ts"
import * as ToolEpisode from "../kit/tools/ToolEpisode.ts"
import { Effect, Option } from "effect"
import type { Action } from "./Acting.ts"
import type { Connection, Observed } from "./Connection.ts"
import { make as failed, type OpenEnvError } from "./OpenEnvError.ts"
import * as ToolChat from "./ToolChat.ts"
import type * as Visible from "./Visible.ts"

/** Converts observations to chat messages, and answers to actions. */
export interface Chat {
  /** The message for the model; `turn` is 0 at the reset. */
  readonly observe: (observed: Observed, turn: number) => Effect.Effect<string, OpenEnvError>
  /** The action of an answer; undefined if it has none, which ends the episode. */
  readonly act: (answer: string, observed: Observed) => Action | undefined
}

export interface Rules {
  readonly reset: { readonly [name: string]: unknown }
  /** System prompt; empty: none. */
  readonly instructions: string
  readonly maxTurns: number
  readonly maxCalls: number
  readonly maxTokens: number
  readonly invalidReward: number
  readonly isHidden: Visible.IsHidden
  /** Called for an answer without an action that the server accepts. */
  readonly onInvalid: (answer: string) => Effect.Effect<void>
}

export interface Played {
  /** The first message to the model, by which starts are compared. */
  readonly start: string
  readonly trajectory: Trajectory.Trajectory
  readonly score: Environment.Score
}

type Sampling = Pick<Episode.Sampling, "seed" | "split" | "temperature">

const componentsOf = ({ metadata, observation }: Observed): RewardComponents.Rewards | undefined => {
  const inner = observation["metadata"]
  const rewards =
    metadata["rewards"] ??
    (typeof inner === "object" && inner !== null && "rewards" in inner ? inner.rewards : undefined)
  return RewardComponents.isRewards(rewards) ? rewards : undefined
}

const scoreOf = (sum: number, last: Observed): Environment.Score => {
  const rewards = componentsOf(last)
  return rewards === undefined ? sum : { score: sum, rewards }
}

const system = ({ instructions }: Rules) => (instructions === "" ? [] : [Message.system(instructions)])

/** An invalid value of an action is the model's mistake; a missing field is ours. */
const isModels = ({ fields = [], reason }: OpenEnvError, action: Action): boolean =>
  reason === "invalid" &&
  fields.every((field) => Object.hasOwn(action, field.split(".")[0]!) || Object.hasOwn(action, field))

/** An episode as text: observations by `observe`, actions by `act`. */
export const inWords = Effect.fn("OpenEnv.episode")(function* (
  connection: Connection,
  seed: number,
  chat: Chat,
  rules: Rules,
  sampling: Sampling
) {
  const first = yield* connection.reset({ ...rules.reset, seed })
  const start = yield* chat.observe(first, 0)
  if (first.done) return yield* overAtReset
  let last = first
  let turn = 0
  const invalid = { state: undefined, reward: rules.invalidReward, isOver: true, observation: "" }
  const world: Episode.World<undefined, OpenEnvError> = {
    maxTurns: rules.maxTurns,
    opening: () => [...system(rules), Message.user(start)],
    step: Effect.fnUntraced(function* (_, answer) {
      const action = chat.act(answer, last)
      if (action === undefined) return yield* Effect.as(rules.onInvalid(answer), invalid)
      const stepped = yield* Effect.asSome(connection.step(action)).pipe(
        Effect.catchIf(
          (error) => isModels(error, action),
          () => Effect.succeedNone
        )
      )
      if (Option.isNone(stepped)) return yield* Effect.as(rules.onInvalid(answer), invalid)
      last = stepped.value
      turn++
      return {
        state: undefined,
        reward: last.reward ?? 0,
        isOver: last.done,
        observation: last.done ? "" : yield* chat.observe(last, turn)
      }
    })
  }
  const { rewards, trajectory } = yield* Episode.live(world, undefined, { maxTokens: rules.maxTokens, ...sampling })
  const sum = rewards.reduce((total, reward) => total + reward, 0)
  return { start, trajectory, score: scoreOf(sum, last) }
})

const overAtReset = failed("failed", "the server's reset returned a finished episode")

/**
 * An episode with the tools of an MCP environment: the model calls them until it answers without a call, which `answer`
 * converts to the last action if the server accepts one, or until the server ends it.
 */
export const withTools = Effect.fn("OpenEnv.toolEpisode")(function* (
  connection: Connection,
  seed: number,
  chat: { readonly observe: Chat["observe"]; readonly answer?: (text: string) => Action | undefined },
  rules: Rules,
  sampling: Sampling
) {
  const first = yield* connection.reset({ ...rules.reset, seed })
  const start = yield* chat.observe(first, 0)
  let last = first
  let sum = 0
  const hear = (observed: Observed): void => {
    last = observed
    sum += observed.reward ?? 0
  }
  const toolbox = Toolbox.make(yield* ToolChat.tools(connection, rules.isHidden, hear), { concurrency: 1 })
  const opening = start === "" ? [Message.user(rules.instructions)] : [...system(rules), Message.user(start)]
  const trajectory = yield* ToolEpisode.play(toolbox, opening, {
    limits: { turns: rules.maxTurns, calls: rules.maxCalls },
    maxTokens: rules.maxTokens,
    isOver: () => last.done,
    ...sampling
  })
  if (trajectory === undefined) {
    const { modelName } = yield* ServerManager.ServerManager
    return yield* new ServerManager.InferenceError({
      reason: "noRoom",
      server: modelName,
      message:
        "the start of the episode leaves no room for an answer within the maximum sequence length (the trainer's seq_len)"
    })
  }
  const final = trajectory.messages.at(-1)
  if (!last.done && chat.answer !== undefined && final !== undefined && (final.tool_calls ?? []).length === 0) {
    const action = chat.answer(Message.text(final))
    if (action === undefined) sum += rules.invalidReward
    else hear(yield* connection.step(action))
  }
  return { start, trajectory, score: scoreOf(sum, last) }
}, Effect.scoped)
