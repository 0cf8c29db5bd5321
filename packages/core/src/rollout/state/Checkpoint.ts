/**
 * Saves what must survive a restart of an environment: its lineage, its cursor with the digest of the rows it counts,
 * its own state and its requeued items, stored by the service under its name.
 *
 * The lineage identifies one sequence of items: chosen once, saved before the first group is sent, and part of every
 * group's key, so that a group is recognized however often it is rolled out.
 */
import { Effect, Option, Schema } from "effect"
import * as Uuid from "../../base/Uuid.ts"
import type { EnvironmentShape } from "../../Environment.ts"
import * as Reason from "../../base/Reason.ts"
import type { EnvironmentClientShape } from "../../service/EnvironmentClient.ts"
import type { SavedState } from "../../service/TrajectoryApi.ts"
import type { TrajectoryError } from "../../service/TrajectoryError.ts"
import * as Cursor from "./Cursor.ts"
import * as Requeued from "./Requeued.ts"

/** Saved state cannot be read, or the environment rejects it. */
export class CheckpointError extends Schema.TaggedError<CheckpointError>()("CheckpointError", {
  environment: Schema.String,
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

const Value = Schema.Struct({
  lineage: Schema.NonEmptyString,
  cursor: Cursor.Saved,
  items: Schema.optionalKey(Schema.String),
  own: Schema.optionalKey(Schema.Unknown),
  requeued: Schema.optionalKey(Requeued.Saved),
  /** True if groups of sizes other than `group_size` were sent. */
  hasOddGroups: Schema.optionalKey(Schema.Boolean)
})
const decodeValue = Schema.decodeUnknownEffect(Value)

export interface Checkpoint {
  readonly lineage: string
  readonly cursor: Cursor.Cursor
  /** Requeued items at the last save. */
  readonly requeued: Requeued.Saved
  /** True if groups of sizes other than `group_size` had been sent. */
  readonly hadOddGroups: boolean
  /** Step at the last save; None on a first start. */
  readonly resumedFrom: Option.Option<number>
  readonly save: (step: number) => Effect.Effect<void, TrajectoryError | CheckpointError>
}

export interface CheckpointOptions {
  readonly client: EnvironmentClientShape
  readonly environment: Pick<EnvironmentShape, "itemsDigest" | "state">
  readonly name: string
  readonly currentStep: number
  /** Read at each save. */
  readonly requeued: () => Requeued.Saved
  /** True if this process has sent groups of sizes other than `group_size`. */
  readonly hasOddGroups: () => boolean
}

/**
 * Restores the state saved under the name, or starts over and saves immediately; also starts over if the cursor counted
 * other rows.
 */
export const open = Effect.fn("Checkpoint.open")(function* (options: CheckpointOptions) {
  const { client, environment, name } = options
  const saved = yield* client.savedStates.load(name)
  const items = yield* environment.itemsDigest
  const read = Option.isNone(saved) ? undefined : yield* readValue(name, saved.value.value)
  const isOther = read?.items !== undefined && read.items !== items
  if (isOther) {
    yield* Effect.logWarning(
      "the rows of this environment, or their order, differ from those of its saved cursor; starting over",
      { environment: name, itemsDone: read.cursor.frontier }
    )
  }
  const loaded = isOther ? Option.none<SavedState>() : saved
  const value: typeof Value.Type = read === undefined || isOther ? { lineage: Uuid.v4(), cursor: Cursor.start } : read
  const { own } = value
  if (own !== undefined && Option.isSome(environment.state)) {
    yield* environment.state.value.restore(own).pipe(
      Effect.mapError(
        (cause) =>
          new CheckpointError({
            environment: name,
            message: `environment ${name} cannot restore its saved state: ${cause.message}`,
            cause
          })
      )
    )
  }
  const cursor = Cursor.make(value.cursor)
  const save = Effect.fnUntraced(function* (step: number) {
    const own = Option.isSome(environment.state) ? yield* environment.state.value.save : undefined
    // Taken at the same moment, so that both agree on every item.
    const requeued = options.requeued()
    const value = {
      lineage,
      cursor: cursor.save(),
      ...(items !== undefined && { items }),
      ...(own !== undefined && { own }),
      ...(requeued.length > 0 && { requeued }),
      ...((hadOddGroups || options.hasOddGroups()) && { hasOddGroups: true })
    }
    yield* client.savedStates.save(name, { step, value })
  })
  const { hasOddGroups: hadOddGroups = false, lineage } = value
  const checkpoint: Checkpoint = {
    lineage,
    cursor,
    requeued: value.requeued ?? [],
    hadOddGroups,
    resumedFrom: Option.map(loaded, ({ step }) => step),
    save
  }
  if (Option.isNone(loaded)) yield* save(options.currentStep)
  return checkpoint
})

const readValue = (environment: string, saved: unknown) =>
  decodeValue(saved).pipe(
    Effect.mapError(
      (cause) =>
        new CheckpointError({
          environment,
          message:
            `the state saved for environment ${environment} is not valid: ${Reason.oneLine(cause)}. ` +
            "Does another program use the name? Choose another one with wandb_name, or reset the run",
          cause
        })
    )
  )
