/**
 * Replays the recorded lines of a run's metrics file into an upload: the rows that the server lacks.
 *
 * Lines have no times: a row's is the run's start plus the trainer's `train/step_time` so far. A trainer that was
 * restarted repeats the steps since its checkpoint; the first values of a step count. Tables are not in the file.
 */
import { Effect, FileSystem } from "effect"
import * as FileSink from "../FileSink.ts"
import * as Rows from "./Rows.ts"
import type { Upload } from "./Upload.ts"
import type { WandbRun } from "./WandbRun.ts"

/** Replays the lines from the run's position up to `to`; returns the newest step the server will then have. */
export const into = Effect.fnUntraced(function* (upload: Upload, run: WandbRun, file: string, to?: number) {
  const { before } = yield* upload.connect
  const fs = yield* FileSystem.FileSystem
  if (!(yield* fs.exists(file))) return before
  const bytes = (yield* fs.readFile(file)).subarray(run.from, to)
  const rows = Rows.make(run)
  let newest = before
  let at = run.startedAt
  const push = (row: Rows.Row | undefined): void => {
    if (row === undefined || row.step <= before) return
    newest = row.step
    upload.push(row)
  }
  const seen = new Set<string>()
  for (const text of new TextDecoder().decode(bytes).split("\n")) {
    // A line truncated by a crash counts as not recorded.
    const line = FileSink.readLine(text)
    if (line === undefined) continue
    const values = Object.fromEntries(
      Object.entries(line.values).filter(([name]) => {
        const isNew = run.kind === "environment" || !seen.has(`${line.step} ${name}`)
        seen.add(`${line.step} ${name}`)
        return isNew
      })
    )
    if (Object.keys(values).length === 0) continue
    at += 1000 * (values["train/step_time"] ?? 0)
    push(rows.add({ _tag: "Figures", step: line.step, at, values }))
  }
  push(rows.end())
  return newest
})
