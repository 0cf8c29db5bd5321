/**
 * How far an environment has come: which items are through, which are held and by what, and what an earlier process
 * left to be done.
 *
 * An item is held by its rollout, by what it put back in the queue, and by each of its groups until the service has
 * answered for it (`Cursor`); of what was put back, what is open can be saved by itself (`Requeued`). Both are saved at
 * one moment, with the environment's own state. What an earlier process had spooled holds its items as well.
 */
import { Effect, type FileSystem, Option, Path } from "effect"
import type { EnvironmentShape } from "../../Environment.ts"
import type { EnvironmentClientShape } from "../../service/EnvironmentClient.ts"
import * as Checkpoint from "./Checkpoint.ts"
import type { Delivery } from "../submit/Delivery.ts"
import * as Requeued from "./Requeued.ts"
import * as Spool from "../submit/Spool.ts"
import type { SpoolError } from "../submit/SpoolError.ts"
import * as StateSaver from "./StateSaver.ts"
import type { Task } from "../pool/Task.ts"

type Item = Pick<Task, "index" | "path" | "work">

export interface Progress extends Pick<Checkpoint.Checkpoint, "lineage" | "resumedFrom"> {
  readonly spool: Spool.Spool
  /** The lowest index that is not through. */
  readonly frontier: number
  /** What an earlier process had put back in the queue; held. */
  readonly restored: ReadonlyArray<Item>
  /** Through, or left by an earlier process to nothing but its groups or what it put back. */
  readonly isDone: (index: number) => boolean
  /** Reasons that hold an item. */
  readonly holds: (index: number) => number
  /** An item of the stream is rolled out, or was put back. */
  readonly begin: (item: Item) => void
  /** It has another group for the service, of so many sequences. */
  readonly send: (item: Item, key: string, sequences: number) => void
  /** Whether groups of other sizes than `group_size` were sent, by an earlier process too. */
  readonly hasOddGroups: () => boolean
  /** It is rolled out, or given up; its groups hold it by themselves. */
  readonly end: (item: Item) => void
  /** The service has answered for a group. */
  readonly answered: (delivery: Pick<Delivery, "index" | "key">) => void
  /** Saves what is new, with the step that is given; never fails. */
  readonly saver: (step: () => number) => Effect.Effect<void>
}

export interface Options {
  readonly client: EnvironmentClientShape
  readonly environment: EnvironmentShape
  /** Name the state is kept under. */
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
  const path = yield* Path.Path
  const requeued = Requeued.make()
  const { groupSize } = options.environment.settings
  let sendsOddGroups = false
  const checkpoint = yield* Checkpoint.open({
    ...options,
    file: path.join(folder, "state.json"),
    requeued: requeued.save,
    hasOddGroups: () => sendsOddGroups
  })
  const { cursor, lineage, resumedFrom, save } = checkpoint
  if (Option.isSome(resumedFrom)) {
    yield* Effect.logInfo("resuming", { savedAtStep: resumedFrom.value, frontier: cursor.frontier() })
  }
  const spool = yield* Spool.make({ directory: folder, maxBytes: spoolMaxBytes, lineage })
  // What an earlier process spooled holds its items; the closed ones need no second rollout.
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
      StateSaver.make(
        () => cursor.version() + requeued.version(),
        Effect.suspend(() => save(step()))
      )
  }
})

/**
 * What was saved of the queue, as work again; of an item of which something cannot be read, nothing: it is rolled out
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
          Effect.logWarning("an item put back in the queue cannot be read; what it came from is rolled out again", {
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
