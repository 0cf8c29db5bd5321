/** The migrations in order: append only. */
import createRunsAndQueue from "./0001_create_runs_and_queue.ts"
import createSearchAndReports from "./0002_create_search_and_reports.ts"

export const migrations = {
  "0001_create_runs_and_queue": createRunsAndQueue,
  "0002_create_search_and_reports": createSearchAndReports
}
