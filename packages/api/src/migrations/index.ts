/** The migrations in order: append only. */
import createRunsAndQueue from "./0001_create_runs_and_queue.ts"

export const migrations = {
  "0001_create_runs_and_queue": createRunsAndQueue
}
