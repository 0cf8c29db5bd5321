/** Submissions as columns: what the statements that insert groups take. */
import type { Submission } from "../../store/TrajectoryStore.ts"
import type { Stored } from "../base/Codec.ts"
import * as Rows from "../base/Rows.ts"

/** A submission, ready to be written. */
export interface Item {
  readonly submission: Submission
  readonly stored: Stored
  /** The sender's key, or one of our own, so that a write can be repeated after a lost connection. */
  readonly key: string
  readonly envColumn: number
}

const mean = (scores: ReadonlyArray<number>): number | null =>
  scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length

/** The columns of the rows to insert, as arrays. */
export const columns = (items: ReadonlyArray<Item>) => ({
  env: Rows.array(
    "int4",
    items.map(({ envColumn }) => envColumn)
  ),
  sequences: Rows.array(
    "int4",
    items.map(({ submission }) => submission.sequences)
  ),
  tokens: Rows.array(
    "int8",
    items.map(({ submission }) => BigInt(submission.tokens))
  ),
  // Arrays of arrays must be rectangular: each as its text.
  scores: Rows.array(
    "text",
    items.map(({ submission }) => `{${submission.scores.join(",")}}`)
  ),
  means: Rows.array(
    "float8",
    items.map(({ submission }) => mean(submission.scores))
  ),
  policySteps: Rows.array(
    "int8",
    items.map(({ submission }) => (submission.policyStep === null ? null : BigInt(submission.policyStep)))
  ),
  keys: Rows.array(
    "uuid",
    items.map(({ key }) => key)
  ),
  encodings: Rows.array(
    "int2",
    items.map(({ stored }) => stored.encoding)
  ),
  messages: Rows.array(
    "bool",
    items.map(({ submission }) => submission.hasMessages ?? null)
  ),
  items: Rows.array(
    "text",
    items.map(({ submission }) => submission.itemId ?? null)
  ),
  payloads: Rows.array(
    "bytea",
    items.map(({ stored }) => stored.bytes)
  )
})
