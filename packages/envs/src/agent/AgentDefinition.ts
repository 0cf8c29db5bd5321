/**
 * What the author of an agent says, and what their functions are given. Plain values and promises: nothing here needs
 * to know Effect.
 */
import type { EnvironmentSettings, Message, RewardComponents, Trajectory } from "@atropos/core"
import type * as AgentSettings from "./AgentSettings.ts"
import type { Awaitable } from "./Foreign.ts"
import type { ItemOf, Items } from "./Items.ts"
import type { Declaration, Values } from "./PlainSettings.ts"
import type { Judged } from "./SessionGroup.ts"

/** The model as SDKs take it; a session of its own for each run. */
export interface AgentModel {
  /** For OpenAI's SDK and all that speak its API. */
  readonly baseURL: string
  /** For Anthropic's. */
  readonly anthropicBaseURL: string
  readonly apiKey: string
  readonly name: string
}

export interface AgentRun<Item, Settings> {
  readonly item: Item
  readonly model: AgentModel
  /** Aborted when the session's time is over, and when the program is stopped. */
  readonly signal: AbortSignal
  readonly settings: Settings
  /** Evaluations roll held-out items out, which are never trained on. */
  readonly split: "train" | "eval"
}

/** A session that is over. */
export interface AgentSession<Item, Settings> {
  readonly item: Item
  /** Its longest chat, the model's last answer included. */
  readonly messages: ReadonlyArray<Message.Message>
  /** What was reported by POST to `/reward`; undefined where nothing was. */
  readonly rewards: RewardComponents.Rewards | undefined
  readonly settings: Settings
}

export interface FinishedSession<Item, Result, Settings> extends AgentSession<Item, Settings> {
  readonly result: Result
  /** The session's own conversation, with its tokens. */
  readonly trajectory: Trajectory.Trajectory
  /** All of its conversations: those of sub-agents and branches, too. */
  readonly trajectories: ReadonlyArray<Trajectory.Trajectory>
}

export interface FailedSession<Item, Settings> extends AgentSession<Item, Settings> {
  /** What was thrown, or an error that says what happened. */
  readonly error: unknown
  readonly reason: string
  readonly trajectories: ReadonlyArray<Trajectory.Trajectory>
}

/** The settings that an author's functions see: those that all environments have, and its own. */
export type SettingsOf<D> = EnvironmentSettings.Common & AgentSettings.Plain & Values<D>

export interface AgentDefinition<I, Result, D> {
  readonly name: string
  /** A path of JSON, JSON Lines, CSV or Parquet, a data set of the hub, an array, a generator function. */
  readonly items: I
  /** Items for evaluation, in the same ways. Default: a tenth of the rows, where there are ten. */
  readonly heldOut?: Items<ItemOf<I>, SettingsOf<NoInfer<D>>>
  /** Settings of its own, by their defaults: each is a flag (`--env.max_depth`), a key of files, and in `settings`. */
  readonly settings?: D
  /** The agent: asks `model` as often as it likes. Called `groupSize` times for each item. */
  readonly run: (given: AgentRun<ItemOf<I>, SettingsOf<NoInfer<D>>>) => Awaitable<Result>
  /**
   * What a session was worth: a number, or components by name, which are weighed by the setting `rewardWeights`.
   * Without it: what was reported by POST to `/reward`, else what `run` returned, if that is a number or components.
   */
  readonly score?: (given: FinishedSession<ItemOf<I>, NoInfer<Result>, SettingsOf<NoInfer<D>>>) => Awaitable<Judged>
  /** The same for a session that failed; without it, or where it gives undefined, such a session is left out. */
  readonly scoreFailure?: (given: FailedSession<ItemOf<I>, SettingsOf<NoInfer<D>>>) => Awaitable<Judged | undefined>
  /** Results of `run` that must get the best score: what `atropos validate` holds `score` to. */
  readonly gold?: (item: ItemOf<I>) => ReadonlyArray<NoInfer<Result>>
  /** Results that must get less. */
  readonly wrong?: (item: ItemOf<I>) => ReadonlyArray<NoInfer<Result>>
  /** The lowest and the highest score. Default where `gold` is given: from 0 to 1. */
  readonly scoreRange?: readonly [minimum: number, maximum: number]
  /** Whether a score counts as solved. Default: the top of `scoreRange`; without a range nothing is called solved. */
  readonly solved?: (score: number) => boolean
  /** Short text for logs and pages. Default: its question (`question`, `prompt`, …), else its JSON. */
  readonly label?: (item: ItemOf<I>) => string
}

/** A definition whose types are closed over: each of its functions takes what the others gave. */
export interface AnyAgent {
  readonly name: string
  readonly items: unknown
  readonly heldOut?: unknown
  readonly settings?: Declaration
  readonly run: (given: AgentRun<unknown, unknown>) => unknown
  readonly score?: (given: FinishedSession<unknown, unknown, unknown>) => unknown
  readonly scoreFailure?: (given: FailedSession<unknown, unknown>) => unknown
  readonly gold?: (item: unknown) => ReadonlyArray<unknown>
  readonly wrong?: (item: unknown) => ReadonlyArray<unknown>
  readonly scoreRange?: readonly [minimum: number, maximum: number]
  readonly solved?: (score: number) => boolean
  readonly label?: (item: unknown) => string
}
