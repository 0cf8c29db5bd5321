/** `atropos evaluate --env …`: the environment's evaluation, with per-sample results. */
import { Console, Effect } from "effect"
import { Flag } from "effect/cli"
import * as Metrics from "../config/Metrics.ts"
import * as RunSettings from "../config/RunSettings.ts"
import * as Services from "../config/Services.ts"
import * as Evaluate from "../evaluate/Evaluate.ts"
import * as Summary from "../job/Summary.ts"
import * as Table from "../base/Table.ts"
import * as EnvironmentVerb from "./EnvironmentVerb.ts"

export const make = EnvironmentVerb.make({
  name: "evaluate",
  own: {
    resume: Flag.Boolean("resume").pipe(
      Flag.withDescription("resume an interrupted evaluation; --no-resume starts over [default: true]"),
      Flag.withDefault(true)
    )
  },
  ownBooleans: ["resume"],
  examples: [
    {
      command: "atropos evaluate --env gsm8k --openai.base_url http://localhost:9001/v1 --openai.model_name my-model",
      description: "results to data/gsm8k-evaluation: samples.jsonl, metrics.json, evaluate_config.yaml"
    }
  ],
  ignored: [
    ...EnvironmentVerb.ofServing,
    ...[
      "total_steps",
      "data_path_to_save_groups",
      "ensure_scores_are_not_same",
      "include_messages",
      "max_num_workers",
      "max_num_workers_per_node",
      "min_items_sent_before_logging",
      "num_rollouts_per_group_for_logging",
      "num_rollouts_to_keep"
    ].map((name) => `env.${name}`)
  ],
  mode: (environment) => ({ data_dir_to_save_evals: `data/${environment}-evaluation` }),
  metricsMode: { file: false },
  handle: (settings, { resume }, metrics) =>
    Effect.gen(function* () {
      const name = settings.chosen.environment.environmentName
      const folder = settings.common.dataDirToSaveEvals ?? `data/${name}-evaluation`
      // The original's `evaluate` starts no run of Weights & Biases: here one that is asked for by name.
      const sinks = Metrics.layerAlone(metrics, { folder, useWandb: { value: false, isGiven: false } })
      const result = yield* Evaluate.run({
        folder,
        resume,
        config: {
          openai: [settings.servers].flat().map(RunSettings.withoutKey),
          slurm: settings.manager.slurm,
          testing: settings.manager.testing
        }
      }).pipe(Effect.provide(sinks))
      for (const note of result.notes) yield* Console.error(note)
      const rows = Object.entries(result.metrics).flatMap(([metric, value]) => {
        if (metric.endsWith("_stderr")) return []
        const stderr = result.metrics[`${metric}_stderr`]
        const arrow = /correct|acc|pass@/.test(metric) ? "↑" : ""
        const shown = Number.isInteger(value) ? String(value) : value.toFixed(4)
        return [[metric.replace("eval/", "").replaceAll("_", " "), arrow, shown, stderr?.toFixed(4) ?? ""]]
      })
      yield* Console.log(Table.columns(["metric", "", "value", "± stderr"], rows))
      yield* Console.log("")
      yield* Console.log(
        Summary.print([
          ["results", `${result.folder} (${result.files.join(", ")})`],
          ...(result.before > 0 ? [["from before", `${result.before} items`] as const] : []),
          ...Summary.failures(result),
          ...Summary.figures(result.tally, result.passing)
        ])
      )
    }).pipe(Services.provide(settings), Metrics.traced(metrics, "atropos-evaluate"))
})
