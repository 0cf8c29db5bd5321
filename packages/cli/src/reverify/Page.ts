/**
 * Writes an HTML page of the viewer with a file's groups and their re-scoring: old next to new scores, the largest
 * changes first (`Reverified` of the viewer's saved data).
 */
import { Console, Effect, Option } from "effect"
import type { Outcome } from "./Outcome.ts"

/** The row of an outcome on the page; none if unchanged. */
const rowsOf = (outcome: Outcome): ReadonlyArray<object> => {
  if (outcome._tag === "Same") return []
  const { item = null, lines } = outcome
  const place = { item, groups: lines.map(String) }
  if (outcome._tag === "Unscored") return [{ ...place, reason: outcome.reason }]
  const { after, before, components, label } = outcome
  return [{ ...place, label, before, after, components }]
}

export interface Page {
  readonly take: (outcome: Outcome) => void
  /** Writes the page; returns a line with its path and content. */
  readonly write: (options: {
    readonly file: string
    readonly out: string
    readonly environment: string
    readonly same: number
  }) => ReturnType<typeof writePage>
}

const writePage = Effect.fnUntraced(function* (file: string, out: string, reverified: object) {
  const StaticPage = yield* Effect.promise(() => import("../view/StaticPage.ts"))
  const page = yield* StaticPage.write({
    title: file,
    files: [file],
    out,
    reverified,
    // The tokenizer in the context is a placeholder; tokens are shown as ids.
    tokenizer: Option.none(),
    // Already reported during scoring.
    onFault: () => Effect.void,
    onNote: Console.error
  })
  return StaticPage.summary(page)
})

export const make = (): Page => {
  const rows: Array<object> = []
  return {
    take: (outcome) => void rows.push(...rowsOf(outcome)),
    write: ({ environment, file, out, same }) => writePage(file, out, { environment, same, rows })
  }
}
