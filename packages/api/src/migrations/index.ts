/** The migrations in order: append only. */
import createRunsAndQueue from "./0001_create_runs_and_queue.ts"
import createSearchAndReports from "./0002_create_search_and_reports.ts"
import numberBatchesByTheirStep from "./0003_number_batches_by_their_step.ts"
import keepTheRuleOfAdvantages from "./0004_keep_the_rule_of_advantages.ts"

export const migrations = {
  "0001_create_runs_and_queue": createRunsAndQueue,
  "0002_create_search_and_reports": createSearchAndReports,
  "0003_number_batches_by_their_step": numberBatchesByTheirStep,
  "0004_keep_the_rule_of_advantages": keepTheRuleOfAdvantages
}
