/** Lists the migrations in order: append only. */
import createRunsAndQueue from "./0001_create_runs_and_queue.ts"
import createSearchAndReports from "./0002_create_search_and_reports.ts"
import numberBatchesByTheirStep from "./0003_number_batches_by_their_step.ts"
import keepTheRuleOfAdvantages from "./0004_keep_the_rule_of_advantages.ts"
import knowItems from "./0005_know_items.ts"
import keepFiguresOfGroups from "./0006_keep_figures_of_groups.ts"
import countRowsOfKeptGroups from "./0007_count_rows_of_kept_groups.ts"
import keepLargePayloadsElsewhere from "./0008_keep_large_payloads_elsewhere.ts"
import keepFiguresOfRollouts from "./0009_keep_figures_of_rollouts.ts"
import keepNotes from "./0010_keep_notes.ts"
import keepEvaluations from "./0011_keep_evaluations.ts"
import keepSettingsOfRuns from "./0012_keep_settings_of_runs.ts"
import deleteRuns from "./0014_delete_runs.ts"
import keepLogprobsOfTrainers from "./0015_keep_logprobs_of_trainers.ts"
import waitAtStaleness from "./0016_wait_at_staleness.ts"
import keysOfGroupsAreOfTheirRun from "./0017_keys_of_groups_are_of_their_run.ts"
import knowTrainersThatWait from "./0018_know_trainers_that_wait.ts"

export const migrations = {
  "0001_create_runs_and_queue": createRunsAndQueue,
  "0002_create_search_and_reports": createSearchAndReports,
  "0003_number_batches_by_their_step": numberBatchesByTheirStep,
  "0004_keep_the_rule_of_advantages": keepTheRuleOfAdvantages,
  "0005_know_items": knowItems,
  "0006_keep_figures_of_groups": keepFiguresOfGroups,
  "0007_count_rows_of_kept_groups": countRowsOfKeptGroups,
  "0008_keep_large_payloads_elsewhere": keepLargePayloadsElsewhere,
  "0009_keep_figures_of_rollouts": keepFiguresOfRollouts,
  "0010_keep_notes": keepNotes,
  "0011_keep_evaluations": keepEvaluations,
  "0012_keep_settings_of_runs": keepSettingsOfRuns,
  "0014_delete_runs": deleteRuns,
  "0015_keep_logprobs_of_trainers": keepLogprobsOfTrainers,
  "0016_wait_at_staleness": waitAtStaleness,
  "0017_keys_of_groups_are_of_their_run": keysOfGroupsAreOfTheirRun,
  "0018_know_trainers_that_wait": knowTrainersThatWait
}
