/**
 * Runs the index thread: answers queries as they arrive, and in between scans and reads the files a few milliseconds at
 * a time, so that no query waits long.
 */
import { parentPort, workerData } from "node:worker_threads"
import * as LineIndex from "./LineIndex.ts"
import type * as LineSearch from "./LineSearch.ts"

export interface Setup {
  readonly files: ReadonlyArray<string>
}

export type Question =
  | { readonly id: number; readonly ask: "page"; readonly file: number; readonly filter: LineSearch.IndexFilter }
  | { readonly id: number; readonly ask: "group"; readonly file: number; readonly number: number }
  | {
      readonly id: number
      readonly ask: "samples"
      readonly file: number
      readonly page: { readonly from: number; readonly limit: number }
    }
  | { readonly id: number; readonly ask: "sample"; readonly file: number; readonly number: number }
  | { readonly id: number; readonly ask: "sizes" }

/** Messages it sends: answers, and notifications about grown files, invalid lines, and the end of initial reading. */
export type ThreadMessage =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly grown: ReadonlyArray<number> }
  | { readonly faults: ReadonlyArray<string> }
  | { readonly notes: ReadonlyArray<string> }
  | { readonly readAll: true }

/** Milliseconds of work between queries, and pause between scans of unchanged files. */
const slice = 20
const pause = 500

const port = parentPort
if (port !== null) {
  // Started by `FileIndex` with this.
  const { files } = workerData as Setup
  const index = LineIndex.open(files)
  const send = (message: ThreadMessage): void => port.postMessage(message)

  const answer = (question: Question): unknown => {
    switch (question.ask) {
      case "page":
        return index.page(question.file, question.filter)
      case "group":
        return index.group(question.file, question.number)
      case "samples":
        return index.samples(question.file, question.page)
      case "sample":
        return index.sample(question.file, question.number)
      case "sizes":
        return files.map((_, file) => index.size(file))
    }
  }
  const handle = (question: Question): void => {
    const { id } = question
    // An error fails only this query, not the thread.
    try {
      send({ id, answer: answer(question) })
    } catch (error) {
      send({ id, error: error instanceof Error ? error.message : String(error) })
    }
  }
  /** Queries received before the first scan: the newest lines are not known yet. */
  let early: Array<Question> | undefined = []
  port.on("message", (question: Question) => {
    if (early === undefined) handle(question)
    else early.push(question)
  })

  let isAllRead = false
  const work = (): void => {
    const { grown, isDone } = index.scan(slice)
    if (early !== undefined) {
      if (!isDone) return void setImmediate(work)
      early.forEach(handle)
      early = undefined
    }
    if (grown.length > 0) send({ grown })
    const hasMore = index.read(slice)
    const { faults, notes } = index.news()
    if (faults.length > 0) send({ faults })
    if (notes.length > 0) send({ notes })
    const isIdle = isDone && !hasMore
    if (isIdle && !isAllRead) send({ readAll: true })
    isAllRead = isIdle
    if (isIdle) setTimeout(work, pause)
    else setImmediate(work)
  }
  work()
}
