/** Converts submissions to column arrays for the insert statements. */
import type { Submission } from "../../store/TrajectoryStore.ts"
import type { Stored } from "../base/Codec.ts"
import * as Rows from "../base/Rows.ts"

export interface Item {
  readonly submission: Submission
  readonly stored: Stored
  /** The sender's key or a generated one, so that a write can be retried after a lost connection. */
  readonly key: string
  readonly envColumn: number
}

const mean = (scores: ReadonlyArray<number>): number | null =>
  scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length

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
  // Nested arrays must be rectangular, so each is passed as text.
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
