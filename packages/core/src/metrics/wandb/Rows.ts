/**
 * Builds rows of a run's history from the recorded parts: parts of one step form one row, which is closed by a part of
 * a later step or by the end of the process. Only closed rows are sent, so that a line never changes.
 */
import { Schema } from "effect"

/** A line of the journal: metrics and tables of a step, or the end of a process with its exit code. */
export const Part = Schema.Union([
  Schema.Struct({
    step: Schema.Finite,
    at: Schema.Finite,
    values: Schema.Record(Schema.String, Schema.Unknown),
    /** Files referenced by the values, in the folder `files`. */
    files: Schema.optionalKey(Schema.Array(Schema.String))
  }),
  Schema.Struct({ exit: Schema.Int, at: Schema.Finite })
])
export type Part = typeof Part.Type

export interface Row {
  readonly step: number
  readonly at: number
  readonly values: { readonly [name: string]: unknown }
  readonly files: ReadonlyArray<string>
}

export interface Rows {
  /** The row that this part closed, if any. */
  readonly add: (part: Part) => Row | undefined
  readonly step: () => number | undefined
  readonly isOpen: () => boolean
  /** Exit code, if the last record was the end of a process. */
  readonly exit: () => number | undefined
}

export const make = (): Rows => {
  let open: Row | undefined
  let step: number | undefined
  let exit: number | undefined
  return {
    add: (part) => {
      const before = open
      if ("exit" in part) {
        open = undefined
        exit = part.exit
        return before
      }
      exit = undefined
      step = part.step
      if (before === undefined || part.step > before.step) {
        open = { step: part.step, at: part.at, values: part.values, files: part.files ?? [] }
        return before
      }
      open = {
        step: before.step,
        at: part.at,
        values: { ...before.values, ...part.values },
        files: [...before.files, ...(part.files ?? [])]
      }
      return undefined
    },
    step: () => step,
    isOpen: () => open !== undefined,
    exit: () => exit
  }
}
