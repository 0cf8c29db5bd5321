/**
 * Saves what must survive a restart of an environment: its lineage, its cursor with the digest of the rows it counts,
 * its own state and its requeued items, stored by the service under its name.
 *
 * The lineage identifies one sequence of items: chosen once, saved before the first group is sent, and part of every
 * group's key, so that a group is recognized however often it is rolled out. If the service stores no state (the
 * original's), a file next to the spool is used; it is ignored if the run's step is behind it, as a new run's would be.
 */
import { Effect, FileSystem, Option, Path, Schema } from "effect"
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
const StateFile = Schema.fromJsonString(Schema.Struct({ step: Schema.Int, value: Schema.Unknown }))
const decodeValue = Schema.decodeUnknownEffect(Value)
const decodeFile = Schema.decodeUnknownEffect(StateFile)

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
  /** Used if the service stores no state. */
  readonly file: string
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
  const { client, environment, file, name } = options
  const storage = yield* openStorage(client, name, file, options.currentStep)
  const saved = yield* storage.load
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
    yield* storage.save({ step, value })
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

interface Storage {
  readonly load: Effect.Effect<Option.Option<SavedState>, TrajectoryError | CheckpointError>
  readonly save: (state: SavedState) => Effect.Effect<void, TrajectoryError | CheckpointError>
}

const openStorage = Effect.fnUntraced(function* (
  client: EnvironmentClientShape,
  name: string,
  file: string,
  currentStep: number
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const failing = (cause: unknown) =>
    new CheckpointError({
      environment: name,
      message: `cannot use the state file ${file}: ${cause instanceof Error ? Reason.oneLine(cause) : String(cause)}. Fix or remove it`,
      cause
    })
  const loadFile = Effect.gen(function* () {
    if (!(yield* fs.exists(file))) return Option.none<SavedState>()
    const state = yield* decodeFile(yield* fs.readFileString(file))
    if (state.step <= currentStep) return Option.some<SavedState>(state)
    yield* Effect.logWarning("saved state belongs to another run; ignoring it", {
      file,
      step: state.step,
      currentStep
    })
    return Option.none<SavedState>()
  }).pipe(Effect.mapError(failing))
  const saveFile = (state: SavedState) =>
    fs.makeDirectory(path.dirname(file), { recursive: true }).pipe(
      Effect.andThen(fs.writeFileString(`${file}.tmp`, JSON.stringify(state))),
      // The rename is atomic: a crash leaves the old or the new file.
      Effect.andThen(fs.rename(`${file}.tmp`, file)),
      Effect.mapError(failing)
    )
  return Option.match(yield* client.savedStates, {
    onNone: (): Storage => ({
      load: Effect.andThen(Effect.logInfo("the service does not store state; using a file", { file }), loadFile),
      save: saveFile
    }),
    onSome: (states): Storage => ({ load: states.load(name), save: (state) => states.save(name, state) })
  })
})
