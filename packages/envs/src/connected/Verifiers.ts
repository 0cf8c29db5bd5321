/**
 * Runs environments of the Python package verifiers (v1 interface, from 0.4 on), by the id of their taskset: built-in
 * ones, those of its hub, and custom ones.
 *
 * The package runs the whole episode, with its harness, tools and scoring; every model request of a seat goes to a
 * gateway session. Rewards keep the package's names and weights. Each seat that the environment declares is its own
 * group, except those marked as not trained. Needs Python with verifiers and the environment's package
 * (docs/python.md).
 */
import { Environment } from "@atropos/core"
import { Effect, Schema } from "effect"
import type { Numbered } from "../agent/SessionRuns.ts"
import * as Bridge from "../python/Bridge.ts"
import { PythonError } from "../python/PythonError.ts"
import * as PythonSettings from "../python/PythonSettings.ts"
import * as Rollouts from "../python/Rollouts.ts"

const packageName = "verifiers"

export const settings = Environment.settings({
  ...Rollouts.fields,
  taskset: Environment.field(
    Schema.String,
    "",
    "id of the taskset, such as reverse_text; atropos envs verifiers --list shows the installed ones"
  ),
  environment: Environment.field(
    Schema.String,
    "",
    "id of an environment to play its tasks in, such as best_of_n; if empty, the taskset's own"
  ),
  config: Environment.field(
    Schema.Record(Schema.String, Schema.Unknown),
    {},
    'the environment\'s configuration as verifiers has it under [env], such as {"agent": {"max_turns": 4}, "taskset": {"dataset_split": "train"}}'
  ),
  harness: Environment.field(
    Schema.NonEmptyString,
    "null",
    "harness of a seat for which the package states none: null (a plain chat, with the task's tools), bash, or another harness of verifiers"
  ),
  runtime: Environment.field(
    Schema.NonEmptyString,
    "subprocess",
    "runtime, if the package states none: subprocess (on this machine), docker, or another runtime of verifiers"
  ),
  runsPerSeat: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64 })),
    2,
    "how often one rollout may run the same seat, retries included: each has a separate session"
  ),
  heldOut: Environment.field(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.9 })),
    0.1,
    "share of the tasks held out for evaluation; 0: all are used for both training and evaluation. Of endless tasks the first evaluation_items are held out"
  )
})

export const layer = Environment.layer("verifiers", settings, (selected) =>
  Effect.gen(function* () {
    const { config, environment, harness, packages, passVariables, python, runtime, taskset } = selected
    if (taskset === "") {
      return yield* new PythonError({
        reason: "unknown",
        message:
          "taskset: name one, as in --env.taskset reverse_text; atropos envs verifiers --list shows the installed ones",
        trace: []
      })
    }
    const bridge = yield* Bridge.make({
      words: yield* PythonSettings.words(python, [packageName, ...packages]),
      kind: packageName,
      packageName,
      name: taskset,
      config: { config, environment, harness, runtime },
      pass: passVariables,
      info: Rollouts.Info
    })
    const runs = yield* Rollouts.make({ name: "verifiers", bridge, settings: selected })
    return {
      ...runs,
      claims: { untestable: "results are only known by running an episode" },
      id: ({ item }: Numbered) => [taskset, config, environment, item],
      label: ({ item }: Numbered) => `${taskset} ${String(item)}`
    }
  })
)
