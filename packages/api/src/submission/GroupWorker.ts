/** Decodes large submissions in a thread: takes one body at a time, and answers with the result of `GroupReader`. */
import { Result } from "effect"
import { parentPort } from "node:worker_threads"
import { readHere, type Reply, type Task } from "./GroupReader.ts"
import * as SubmissionForm from "./SubmissionForm.ts"

/** Drops potentially large input values from errors. */
const withoutEcho = (detail: unknown): unknown => {
  if (typeof detail !== "object" || detail === null || !("input" in detail)) return detail
  const { input } = detail
  const isSmall = typeof input === "string" ? input.length <= 1000 : typeof input !== "object"
  return isSmall ? detail : { ...detail, input: null }
}

const answer = (task: Task): Reply => {
  if (task.kind === "versioned") {
    return Result.match(SubmissionForm.read(task.sent, task.limits), {
      onSuccess: (submissions): Reply => ({ submissions }),
      onFailure: (error): Reply => ({
        failure: {
          _tag: error._tag,
          message: error.message,
          ...("field" in error && error.field !== undefined && { field: error.field })
        }
      })
    })
  }
  return Result.match(readHere(task.kind, task.body, task.limits), {
    onSuccess: (submissions): Reply => ({ submissions }),
    onFailure: (error): Reply =>
      error._tag === "BodyTooLarge"
        ? { tooLarge: { what: error.what, limitBytes: error.limitBytes } }
        : { wireError: { reason: error.reason, details: error.details.map(withoutEcho) } }
  })
}

parentPort?.on("message", (task: Task) => {
  const reply = answer(task)
  // Small results may share a buffer, which can be transferred only once.
  const buffers = new Set(
    "submissions" in reply ? reply.submissions.map(({ payload }) => payload.bytes.buffer as ArrayBuffer) : []
  )
  parentPort?.postMessage(
    reply,
    [...buffers].filter((buffer) => buffer.byteLength > 65_536)
  )
})
