/**
 * A page of the viewer with the groups of a file and what scoring them again came to: old scores beside new ones, those
 * that changed most first (`Reverified` of the viewer's saved data).
 */
import { Console, Effect, Option } from "effect"
import type { Outcome } from "./Outcome.ts"

/** What of an outcome the page shows; nothing of one that stayed the same. */
const shown = (outcome: Outcome): ReadonlyArray<object> => {
  if (outcome._tag === "Same") return []
  const { item = null, lines } = outcome
  const place = { item, groups: lines.map(String) }
  if (outcome._tag === "Unscored") return [{ ...place, reason: outcome.reason }]
  const { after, before, components, label } = outcome
  return [{ ...place, label, before, after, components }]
}

export interface Page {
  readonly take: (outcome: Outcome) => void
  /** Writes it; tells in a line where it lies and what it holds. */
  readonly write: (options: {
    readonly file: string
    readonly out: string
    readonly environment: string
    readonly same: number
  }) => ReturnType<typeof written>
}

const written = Effect.fnUntraced(function* (file: string, out: string, reverified: object) {
  const StaticPage = yield* Effect.promise(() => import("../view/StaticPage.ts"))
  const page = yield* StaticPage.write({
    title: file,
    files: [file],
    out,
    reverified,
    // The one at hand is whatever answers nobody; tokens are shown as ids.
    tokenizer: Option.none(),
    // They were told when the file was scored.
    onFault: () => Effect.void,
    onNote: Console.error
  })
  return StaticPage.summary(page)
})

export const make = (): Page => {
  const rows: Array<object> = []
  return {
    take: (outcome) => void rows.push(...shown(outcome)),
    write: ({ environment, file, out, same }) => written(file, out, { environment, same, rows })
  }
}
