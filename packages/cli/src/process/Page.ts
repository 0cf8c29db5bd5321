/**
 * Writes the HTML page of a run's groups next to their file. Errors are reported but do not fail the run: the groups
 * are saved.
 */
import { Tokenizer } from "@atropos/core"
import { Console, Effect } from "effect"
import * as FaultLog from "../base/FaultLog.ts"

/** `groups.jsonl` has its page in `groups.html`, as in the original. */
const pathOf = (file: string): string => `${file.replace(/\.[^./\\]*$/, "")}.html`

/** Writes the page; returns a line with its path and content, or undefined on failure. */
export const write = Effect.fn("Page.write")(function* (file: string, title: string) {
  const StaticPage = yield* Effect.promise(() => import("../view/StaticPage.ts"))
  const faults = FaultLog.make()
  return yield* StaticPage.write({
    title,
    files: [file],
    out: pathOf(file),
    tokenizer: yield* Effect.serviceOption(Tokenizer.Tokenizer),
    onFault: faults.tell,
    onNote: Console.error
  }).pipe(
    Effect.map(StaticPage.summary),
    Effect.catch(({ message }) => Effect.as(Console.error(`HTML page could not be written: ${message}`), undefined))
  )
})
