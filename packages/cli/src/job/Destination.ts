/**
 * Selects the output file of a run: the requested one if it is new, or unfinished and made with the same settings;
 * otherwise the next free name (`groups_1.jsonl`, as in the original). Nothing is overwritten, and one process at a
 * time writes under a name.
 */
import { Effect, Equal, Option, Path } from "effect"
import * as OutputLock from "./OutputLock.ts"
import * as ResumableFile from "./ResumableFile.ts"

export interface Destination {
  readonly path: string
  /** Checkpoint to resume from; none for a new file. */
  readonly checkpoint: Option.Option<ResumableFile.Checkpoint>
  /** Why the requested file was not used. */
  readonly notes: ReadonlyArray<string>
}

type MadeBy = ResumableFile.Checkpoint["madeBy"]

const differences = (before: MadeBy, now: MadeBy): string =>
  [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .filter((name) => !Equal.equals(before[name], now[name]))
    .map((name) => `${name} was ${JSON.stringify(before[name])}, is ${JSON.stringify(now[name])}`)
    .join("; ")

/** A JSON round trip, so that values compare equal to those of a checkpoint. */
export const madeBy = (values: { readonly [name: string]: unknown }): MadeBy =>
  JSON.parse(JSON.stringify(values)) as MadeBy

export interface FindOptions {
  /** false: always a new file. */
  readonly resume: boolean
}

/** Finds the file for a run, and locks the requested and the selected name until the scope closes. */
export const find = Effect.fn("Destination.find")(function* (target: string, made: MadeBy, options: FindOptions) {
  // Locked before checking: a file another process is about to write is neither missing nor finished.
  yield* OutputLock.hold(target)
  const found = yield* look(target, made, options)
  if (found.path !== target) yield* OutputLock.hold(found.path)
  return found
})

const look = Effect.fnUntraced(function* (target: string, made: MadeBy, { resume }: FindOptions) {
  const path = yield* Path.Path
  const { dir, ext, name } = path.parse(target)
  const notes: Array<string> = []
  for (let number = 0; ; number++) {
    const candidate = number === 0 ? target : path.join(dir, `${name}_${number}${ext}`)
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
