/** Defines an agent and the arguments of its functions. Plain values and promises: requires no Effect. */
import type { EnvironmentSettings, Message, RewardComponents, Trajectory } from "@atropos/core"
import type { Trained } from "@atropos/core/gateway/session/Trained"
import type * as Inference from "@atropos/core/inference/wire/Inference"
import type * as AgentSettings from "./AgentSettings.ts"
import type { Awaitable } from "./Foreign.ts"
import type { ItemOf, Items } from "./Items.ts"
import type { Declaration, Values } from "./PlainSettings.ts"
import type { Judged } from "./SessionGroup.ts"

/** The model as SDKs take it; each run has its own session. */
export interface AgentModel {
  /** For OpenAI's SDK and other clients of its API. */
  readonly baseURL: string
  /** For Anthropic's SDK. */
  readonly anthropicBaseURL: string
  readonly apiKey: string
  readonly name: string
  /** Reports a reward by `POST`. */
  readonly rewardURL: string
  /** Max tokens of a prompt and its answer, if known. */
  readonly contextLength?: number
}

export interface AgentRun<Item, Settings> {
  readonly item: Item
  readonly model: AgentModel
  /** Aborted when the session times out or the program stops. */
  readonly signal: AbortSignal
  readonly settings: Settings
  /** Evaluations use held-out items, which are never trained on. */
  readonly split: "train" | "eval"
}

export interface AgentSession<Item, Settings> {
  readonly item: Item
  /** Its longest chat, including the model's last answer. */
  readonly messages: ReadonlyArray<Message.Message>
  /** Rewards posted to `/reward`; undefined if none. */
  readonly rewards: RewardComponents.Rewards | undefined
  readonly settings: Settings
}

export interface FinishedSession<Item, Result, Settings> extends AgentSession<Item, Settings> {
  readonly result: Result
  /** The session's main conversation, with its tokens. */
  readonly trajectory: Trajectory.Trajectory
  /** All of its conversations, including those of sub-agents and branches. */
  readonly trajectories: ReadonlyArray<Trajectory.Trajectory>
}

export interface FailedSession<Item, Settings> extends AgentSession<Item, Settings> {
  /** The thrown value, or an error that describes the failure. */
  readonly error: unknown
  readonly reason: string
  readonly trajectories: ReadonlyArray<Trajectory.Trajectory>
}

/** The settings that an author's functions receive: the common ones and the agent's own. */
export type SettingsOf<D> = EnvironmentSettings.Common & AgentSettings.Plain & Values<D>

export interface AgentDefinition<I, Result, D> {
  readonly name: string
  /** A path of JSON, JSON Lines, CSV or Parquet, a data set of the hub, an array, a generator function. */
  readonly items: I
  /** Items for evaluation, same types. Default: a tenth of the rows, if at least ten. */
  readonly heldOut?: Items<ItemOf<I>, SettingsOf<NoInfer<D>>>
  /**
   * The agent's own settings, as default values: each is a flag (`--env.max_depth`), a key in files, and in `settings`.
   */
  readonly settings?: D
  /** The agent; may call `model` any number of times. Called `groupSize` times for each item. */
  readonly run: (input: AgentRun<ItemOf<I>, SettingsOf<NoInfer<D>>>) => Awaitable<Result>
  /**
   * The requests of a run that are trained; others are recorded and masked. Default: all. The setting `trained`
   * overrides it.
   */
  readonly trained?: Trained | ((request: Pick<Inference.ChatRequest, "messages" | "tools">) => boolean)
  /**
   * The reward of a session: a number, or components by name, weighted by the setting `rewardWeights`. Default: the
   * rewards posted to `/reward`, else the result of `run`, if numeric or components.
   */
  readonly score?: (input: FinishedSession<ItemOf<I>, NoInfer<Result>, SettingsOf<NoInfer<D>>>) => Awaitable<Judged>
  /** The reward of a failed session. Without it, or if it returns undefined, the session is dropped. */
  readonly scoreFailure?: (input: FailedSession<ItemOf<I>, SettingsOf<NoInfer<D>>>) => Awaitable<Judged | undefined>
  /** Results of `run` that must get the best score; `atropos validate` checks `score` against them. */
  readonly gold?: (item: ItemOf<I>) => ReadonlyArray<NoInfer<Result>>
  /** Results that must score less. */
  readonly wrong?: (item: ItemOf<I>) => ReadonlyArray<NoInfer<Result>>
  /** The lowest and the highest score. Default with `gold`: from 0 to 1. */
  readonly scoreRange?: readonly [minimum: number, maximum: number]
  /** Reports whether a score counts as solved. Default: the top of `scoreRange`; without a range nothing is solved. */
  readonly solved?: (score: number) => boolean
  /** Short text for logs and pages. Default: the item's question (`question`, `prompt`, …), else its JSON. */
  readonly label?: (item: ItemOf<I>) => string
}

/** A definition with its types erased: each of its functions accepts what the others return. */
export interface AnyAgent {
  readonly name: string
  readonly items: unknown
  readonly heldOut?: unknown
  readonly settings?: Declaration
  readonly run: (input: AgentRun<unknown, unknown>) => unknown
  readonly trained?: AgentDefinition<unknown, unknown, unknown>["trained"]
  readonly score?: (input: FinishedSession<unknown, unknown, unknown>) => unknown
  readonly scoreFailure?: (input: FailedSession<unknown, unknown>) => unknown
  readonly gold?: (item: unknown) => ReadonlyArray<unknown>
  readonly wrong?: (item: unknown) => ReadonlyArray<unknown>
  readonly scoreRange?: readonly [minimum: number, maximum: number]
  readonly solved?: (score: number) => boolean
  readonly label?: (item: unknown) => string
}
