/** Fetches the payloads of stored groups for text extraction, from the row or object storage, without lost ones. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { StoreError } from "../../store/TrajectoryStore.ts"
import type { Objects } from "../base/Objects.ts"
import type { StoredRow } from "./GroupTexts.ts"

/** Fails if a payload is temporarily unavailable. */
export const bring = (
  objects: Objects,
  rows: ReadonlyArray<StoredRow>
): Effect.Effect<ReadonlyArray<StoredRow>, SqlError | StoreError> =>
  Effect.map(
    Effect.forEach(
      rows,
      (row) =>
        objects.bring(row).pipe(
          Effect.catchTag("StoreError", (error) =>
            error.isTransient
              ? Effect.fail(error)
              : Effect.as(
                  Effect.logWarning("payload of a group lost; searches skip it", {
                    group: row.id,
                    reason: error.message
                  }),
                  undefined
                )
          )
        ),
      { concurrency: "unbounded" }
    ),
    (rows) => rows.filter((row) => row !== undefined)
  )
