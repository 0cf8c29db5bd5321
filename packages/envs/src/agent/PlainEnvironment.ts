/**
 * Defines an environment by plain async functions (`defineEnvironment`), for calling the model yourself without Effect.
 *
 * `model` offers what environments have of the policy, as promises: exact tokens, several answers in parallel, sessions
 * of several turns. An error thrown by a function affects only its item, which is retried; an error in `score` is
 * reported with file and line.
 */
import { type Dataset, Environment, ServerManager, type Trajectory } from "@atropos/core"
import { InferenceError } from "@atropos/core/inference/wire/Inference"
import * as OwnCopy from "@atropos/core/base/system/OwnCopy"
import * as Platform from "@atropos/core/base/system/Platform"
import { Effect, Schema, Stream } from "effect"
import type { SettingsOf } from "./AgentDefinition.ts"
import * as AgentSettings from "./AgentSettings.ts"
import * as Caller from "./Caller.ts"
import * as Claims from "./Claims.ts"
import * as DefinitionShape from "./DefinitionShape.ts"
import * as Failures from "./Failures.ts"
import * as Foreign from "./Foreign.ts"
import * as Items from "./Items.ts"
import * as PlainModel from "./PlainModel.ts"
import type * as PlainSettings from "./PlainSettings.ts"
import * as SessionGroup from "./SessionGroup.ts"

/** An error thrown by an author's `collectTrajectories`; it affects only its item. */
class CollectError extends Schema.TaggedError<CollectError>()("CollectError", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

export interface Collecting<Item, Settings> {
  readonly item: Item
  readonly model: PlainModel.PlainModel
  /** Number of rollouts: `groupSize`, in an evaluation 1. */
  readonly count: number
  /** Aborted when the item times out or the program stops. */
  readonly signal: AbortSignal
  readonly settings: Settings
  readonly split: "train" | "eval"
}

export interface Scoring<Item, Settings> {
  readonly item: Item
  readonly trajectories: ReadonlyArray<Trajectory.Trajectory>
  readonly settings: Settings
}

export interface PlainDefinition<I, D> {
  readonly name: string
  /** A path of JSON, JSON Lines, CSV or Parquet, a data set of the hub, an array, a generator function. */
  readonly items: I
  /** Items for evaluation, same types. Default: a tenth of the rows, if at least ten. */
  readonly heldOut?: Items.Items<Items.ItemOf<I>, SettingsOf<NoInfer<D>>>
  /** The environment's own settings, as default values. */
  readonly settings?: D
  /** One group: trajectories returned by `model`, to be compared with each other. */
  readonly collectTrajectories: (
    input: Collecting<Items.ItemOf<I>, SettingsOf<NoInfer<D>>>
  ) => Foreign.Awaitable<ReadonlyArray<Trajectory.Trajectory>>
  /** One score per trajectory, in order: numbers, or numbers by name. */
  readonly score: (
    input: Scoring<Items.ItemOf<I>, SettingsOf<NoInfer<D>>>
  ) => Foreign.Awaitable<ReadonlyArray<SessionGroup.Judged>>
  /** Completions that must get the best score; `atropos validate` checks `score` against them. */
  readonly gold?: (item: Items.ItemOf<I>) => ReadonlyArray<string>
  /** Completions that must score less. */
  readonly wrong?: (item: Items.ItemOf<I>) => ReadonlyArray<string>
  /** The lowest and the highest score. Default with `gold`: from 0 to 1. */
  readonly scoreRange?: readonly [minimum: number, maximum: number]
  /** Reports whether a score counts as solved. Default: the top of `scoreRange`; without a range nothing is solved. */
  readonly solved?: (score: number) => boolean
  /** Short text for logs. Default: the JSON of the item. */
  readonly label?: (item: Items.ItemOf<I>) => string
}

interface AnyPlain {
  readonly name: string
  readonly items: unknown
  readonly heldOut?: unknown
  readonly settings?: PlainSettings.Declaration
  readonly collectTrajectories: (input: Collecting<unknown, unknown>) => unknown
  readonly score: (input: Scoring<unknown, unknown>) => unknown
  readonly gold?: (item: unknown) => ReadonlyArray<unknown>
  readonly wrong?: (item: unknown) => ReadonlyArray<unknown>
  readonly scoreRange?: readonly [minimum: number, maximum: number]
  readonly solved?: (score: number) => boolean
  readonly label?: (item: unknown) => string
}

const keys = {
  name: "string",
  items: "any",
  heldOut: "any?",
  settings: "object?",
  collectTrajectories: "function",
  score: "function",
  gold: "function?",
  wrong: "function?",
  scoreRange: "range?",
  solved: "function?",
  label: "function?"
} as const satisfies { readonly [K in keyof Required<AnyPlain>]: DefinitionShape.Kind }

/**
 * The environment of some functions, to be the default export of its file. Throws `TypeError` for an invalid
 * definition.
 */
export const defineEnvironment = <
  const I extends Items.Items<unknown, SettingsOf<D>>,
  const D extends PlainSettings.Declaration = {}
>(
  definition: PlainDefinition<I, D>
): Environment.EnvironmentLayer<SettingsOf<D>, unknown, ServerManager.ServerManager | Dataset.Dataset> => {
  const folder = Caller.folder()
  DefinitionShape.check("defineEnvironment", definition, keys)
  // The author's types end here: below, a function accepts what the definition's other functions return.
  const plain = definition as unknown as AnyPlain
  const settings = AgentSettings.makePlain(plain.settings)
  const layer = Environment.layer(plain.name, settings, (selected) => make(plain, selected, folder))
  return layer as unknown as ReturnType<typeof defineEnvironment<I, D>>
}

/** Of requests that name none. */
const temperatures = { train: 1, eval: 0 }

const make = Effect.fn("PlainEnvironment.make")(function* (
  plain: AnyPlain,
  settings: Parameters<ReturnType<typeof AgentSettings.makePlain>["encode"]>[0],
  folder: string | undefined
) {
  const servers = yield* ServerManager.ServerManager
  const { evaluationItems, groupSize, items, maxTokenLength, testItems } = settings
  const source = yield* Items.source({
    items: plain.items,
    heldOut: plain.heldOut,
    instead: { items, heldOut: testItems },
    settings,
    evaluationItems,
    folder
  }).pipe(Effect.provide(Platform.layer))
  const { claims } = Claims.make(plain)

  const collect = (item: unknown, split: "train" | "eval", count: number) =>
    Effect.scoped(
      Effect.flatMap(
        PlainModel.make(servers, { maxTokens: maxTokenLength, split, temperature: temperatures[split] }),
        (model) =>
          Foreign.call((signal) => plain.collectTrajectories({ item, model, count, signal, settings, split })).pipe(
            Effect.mapError(({ cause, message }) =>
              cause instanceof InferenceError
                ? cause
                : new CollectError({ message: `collectTrajectories ${message}`, cause })
            ),
            // The runner of environments checks that these are trajectories.
            Effect.map((trajectories) => trajectories as ReadonlyArray<Trajectory.Trajectory>)
          )
      )
    )

  return {
    // Copies, so that a function that changes its item changes no row.
    items: (cursor: number) => Stream.map(source.items(cursor), OwnCopy.of),
    collectTrajectories: (item: unknown) => collect(item, "train", groupSize),
    score: (item: unknown, trajectories: ReadonlyArray<Trajectory.Trajectory>) =>
      Foreign.call(() => plain.score({ item, trajectories, settings })).pipe(
        Effect.mapError(Foreign.fault("score")),
        // The runner checks these too: numbers stay as they are, names become components.
        Effect.map((scores) =>
          Array.isArray(scores)
            ? scores.map((one: unknown) =>
                SessionGroup.faultOf(one) === undefined ? SessionGroup.score(one as SessionGroup.Judged) : one
              )
            : scores
        ),
        Effect.map((scores) => scores as ReadonlyArray<Environment.Score>)
      ),
    ...(source.hasHeldOut && {
      evaluation: {
        items: Stream.map(source.heldOut, OwnCopy.of),
        collectTrajectories: (item: unknown) => collect(item, "eval", 1)
      }
    }),
    ...(plain.solved !== undefined && { isCorrect: plain.solved }),
    claims,
    label: (item: unknown) => Failures.labelOf(plain, item)
  }
})
