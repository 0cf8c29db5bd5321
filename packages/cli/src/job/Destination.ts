/**
 * Where a run's lines go: the file asked for when it is new, or made by the same settings and not yet done; else the
 * next free name (`groups_1.jsonl`, as in the original). Nothing is ever overwritten, and one process at a time writes
 * under a name.
 */
import { Effect, Equal, Option, Path } from "effect"
import * as OutputLock from "./OutputLock.ts"
import * as ResumableFile from "./ResumableFile.ts"

export interface Destination {
  readonly path: string
  /** Where to go on from; none for a new file. */
  readonly checkpoint: Option.Option<ResumableFile.Checkpoint>
  /** Why the file asked for was not taken. */
  readonly notes: ReadonlyArray<string>
}

type MadeBy = ResumableFile.Checkpoint["madeBy"]

const differences = (before: MadeBy, now: MadeBy): string =>
  [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .filter((name) => !Equal.equals(before[name], now[name]))
    .map((name) => `${name} was ${JSON.stringify(before[name])}, is ${JSON.stringify(now[name])}`)
    .join("; ")

/** JSON and back, so that what is compared is what a checkpoint can hold. */
export const madeBy = (values: { readonly [name: string]: unknown }): MadeBy =>
  JSON.parse(JSON.stringify(values)) as MadeBy

export interface FindOptions {
  /** false: always a new file. */
  readonly resume: boolean
}

/** Finds the file for a run, and holds the name asked for and the one found until the scope closes. */
export const find = Effect.fn("Destination.find")(function* (wanted: string, made: MadeBy, options: FindOptions) {
  // Before anything is looked at: what another process is about to write is neither missing nor finished.
  yield* OutputLock.hold(wanted)
  const found = yield* look(wanted, made, options)
  if (found.path !== wanted) yield* OutputLock.hold(found.path)
  return found
})

const look = Effect.fnUntraced(function* (wanted: string, made: MadeBy, { resume }: FindOptions) {
  const path = yield* Path.Path
  const { dir, ext, name } = path.parse(wanted)
  const notes: Array<string> = []
  for (let number = 0; ; number++) {
    const candidate = number === 0 ? wanted : path.join(dir, `${name}_${number}${ext}`)
    const { checkpoint, exists } = yield* ResumableFile.inspect(candidate)
    if (!exists) return { path: candidate, checkpoint: Option.none(), notes } satisfies Destination
    if (!resume) continue
    if (Option.isNone(checkpoint)) {
      notes.push(`${candidate} exists and has no checkpoint, so it is kept`)
      continue
    }
    const changed = differences(checkpoint.value.madeBy, made)
    if (changed === "" && checkpoint.value.isFinished === true) continue
    if (changed === "") return { path: candidate, checkpoint, notes } satisfies Destination
    notes.push(`${candidate} was made with other settings (${changed}), so it is kept`)
  }
})
