/**
 * Tracks the progress of an environment: finished items, held items and their holds, and leftovers of an earlier
 * process.
 *
 * An item is held by its rollout, its requeued items, and each of its groups until the service has answered for it
 * (`Cursor`); open requeued items are saved separately if possible (`Requeued`), at the same moment, with the
 * environment's own state. Groups spooled by an earlier process hold their items too.
 */
import { Effect, type FileSystem, Option, type Path } from "effect"
import type { EnvironmentShape } from "../../Environment.ts"
import type { EnvironmentClientShape } from "../../service/EnvironmentClient.ts"
import * as Checkpoint from "./Checkpoint.ts"
import type { CheckpointError } from "./Checkpoint.ts"
import type { Delivery } from "../submit/Delivery.ts"
import * as Requeued from "./Requeued.ts"
import * as Spool from "../submit/Spool.ts"
import type { SpoolError } from "../submit/SpoolError.ts"
import type { Task } from "../pool/Task.ts"
import type { TrajectoryError } from "../../service/TrajectoryError.ts"

/**
 * Saves the state of a run whenever it changes; an outage is logged once instead of every second.
 * Saves if `version` has changed; never fails, and retries at the next call.
 */
const makeSaver = (
  version: () => number,
  save: Effect.Effect<void, TrajectoryError | CheckpointError>
): Effect.Effect<void> => {
  let savedVersion = version()
  let isUnsaved = false
  return Effect.suspend(() => {
    const present = version()
    if (present === savedVersion) return Effect.void
    return save.pipe(
      Effect.andThen(
        Effect.sync(() => {
          savedVersion = present
          isUnsaved = false
        })
      ),
      Effect.catch((error) => {
        const isNews = !isUnsaved
        isUnsaved = true
        return Effect.when(
          Effect.logWarning("state could not be saved; retrying", { reason: error.message }),
          Effect.succeed(isNews)
        )
      })
    )
  })
}

type Item = Pick<Task, "index" | "path" | "work">

export interface Progress extends Pick<Checkpoint.Checkpoint, "lineage" | "resumedFrom"> {
  readonly spool: Spool.Spool
  readonly frontier: number
  /** Items requeued by an earlier process; held. */
  readonly restored: ReadonlyArray<Item>
  /** Finished, or left by an earlier process with only groups or requeued items pending. */
  readonly isDone: (index: number) => boolean
  readonly holds: (index: number) => number
  /** An item of the stream starts its rollout, or an item was requeued. */
  readonly begin: (item: Item) => void
  /** It has another group to send, with this number of sequences. */
  readonly send: (item: Item, key: string, sequences: number) => void
  /** True if groups of sizes other than `group_size` were sent, including by an earlier process. */
  readonly hasOddGroups: () => boolean
  /** It is rolled out or abandoned; its groups hold it separately. */
  readonly end: (item: Item) => void
  readonly answered: (delivery: Pick<Delivery, "index" | "key">) => void
  /** Saves changes, with the given step; never fails. */
  readonly saver: (step: () => number) => Effect.Effect<void>
}

export interface Options {
  readonly client: EnvironmentClientShape
  readonly environment: EnvironmentShape
  readonly name: string
  /** For spool and state. */
  readonly folder: string
  readonly spoolMaxBytes: number
  readonly currentStep: number
}

export const open = Effect.fn("Progress.open")(function* ({
  folder,
  spoolMaxBytes,
  ...options
}: Options): Effect.fn.Return<
  Progress,
  Effect.Error<ReturnType<typeof Checkpoint.open>> | SpoolError,
  FileSystem.FileSystem | Path.Path
> {
  const requeued = Requeued.make()
  const { groupSize } = options.environment.settings
  let sendsOddGroups = false
  const checkpoint = yield* Checkpoint.open({
    ...options,
    requeued: requeued.save,
    hasOddGroups: () => sendsOddGroups
  })
  const { cursor, lineage, resumedFrom, save } = checkpoint
  if (Option.isSome(resumedFrom)) {
    yield* Effect.logInfo("resuming", { savedAtStep: resumedFrom.value, frontier: cursor.frontier() })
  }
  const spool = yield* Spool.make({ directory: folder, maxBytes: spoolMaxBytes, lineage })
  // Groups spooled by an earlier process hold their items; closed ones need no second rollout.
  for (const { index } of spool.recovered) cursor.hold(index)
  const spooled = spool.recovered.filter(({ closes }) => closes).map(({ index }) => index)

  const begin = ({ index, path: at, work }: Item): void => {
    cursor.hold(index)
    requeued.open(at, work)
  }
  const restored = yield* restore(options.environment, checkpoint.requeued, (index) => !cursor.isFinished(index))
  restored.forEach(begin)
  const left = new Set([...spooled, ...restored.map(({ index }) => index)])

  return {
    lineage,
    resumedFrom,
    spool,
    restored,
    frontier: cursor.frontier(),
    isDone: (index) => cursor.isFinished(index) || left.has(index),
    holds: cursor.holds,
    begin,
    hasOddGroups: () => checkpoint.hadOddGroups || sendsOddGroups,
    send: ({ index, path: at }, key, sequences) => {
      sendsOddGroups ||= sequences !== groupSize
      cursor.hold(index)
      requeued.hold(at, key)
    },
    end: ({ index, path: at }) => {
      requeued.release(at)
      cursor.release(index)
    },
    answered: ({ index, key }) => {
      requeued.answered(key)
      cursor.release(index)
    },
    saver: (step) =>
      makeSaver(
        () => cursor.version() + requeued.version(),
        Effect.suspend(() => save(step()))
      )
  }
})

/**
 * Restores saved requeued items as work. If any of an item's cannot be read, none are restored: the item is rolled out
 * again.
 */
const restore = Effect.fnUntraced(function* (
  environment: EnvironmentShape,
  saved: Requeued.Saved,
  isWanted: (index: number) => boolean
) {
  const unreadable = new Set<number>()
  const items = yield* Effect.forEach(saved, ({ item, path }) => {
    const index = Requeued.indexOf(path)
    const read = Option.getOrUndefined(environment.requeued)
    if (!isWanted(index) || read === undefined) return Effect.succeed([])
    return read(item).pipe(
      Effect.map((work): ReadonlyArray<Item> => [{ index, path, work }]),
      Effect.catch(({ message }) => {
        unreadable.add(index)
        return Effect.as(
          Effect.logWarning("a requeued item could not be read; its source will be rolled out again", {
            index,
            reason: message
          }),
          []
        )
      })
    )
  })
  return items.flat().filter(({ index }) => !unreadable.has(index))
})
