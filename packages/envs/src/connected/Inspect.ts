/**
 * Runs evaluations of the Python package inspect_ai as environments: a task of a package (inspect_evals/gsm8k) or of a
 * file.
 *
 * The task's solver calls a gateway session, and each of its scorers is a reward component by its name; the reward is
 * their sum (weighted by `reward_weights`). Model calls of scorers go to the policy too, but are not trained on, unless
 * `roles` names another model for them. Needs Python with inspect_ai and the task's package (docs/python.md).
 */
import { Environment } from "@atropos/core"
import { Effect, Schema } from "effect"
import type { Numbered } from "../agent/SessionRuns.ts"
import * as Bridge from "../python/Bridge.ts"
import { PythonError } from "../python/PythonError.ts"
import * as PythonSettings from "../python/PythonSettings.ts"
import * as Rollouts from "../python/Rollouts.ts"

const packageName = "inspect_ai"

export const settings = Environment.settings({
  ...Rollouts.fields,
  evaluationItems: Environment.field(
    Schema.Int.check(Schema.isGreaterThan(0)),
    100_000,
    "samples per evaluation, at most"
  ),
  rolloutsAtOnce: Environment.field(
    Schema.Int.check(Schema.isGreaterThan(0)),
    64,
    "samples at a time: waiting ones are evaluated together"
  ),
  task: Environment.field(
    Schema.String,
    "",
    "the task: package/task, or a file (tasks.py, tasks.py@name); atropos envs inspect --list shows those of installed packages and of this folder"
  ),
  args: Environment.field(
    Schema.Record(Schema.String, Schema.Unknown),
    {},
    'arguments of the task, as -T gives them to inspect eval, such as {"fewshot": 0}'
  ),
  roles: Environment.field(
    Schema.Record(Schema.String, Schema.NonEmptyString),
    {},
    'models for roles of the task, such as {"grader": "openai/gpt-5"}; the policy plays the others. For their keys: pass_variables'
  ),
  heldOut: Environment.field(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.9 })),
    0,
    "share of the samples held out for evaluation; 0: all are used for both evaluation and training"
  )
})

export const layer = Environment.layer("inspect", settings, (selected) =>
  Effect.gen(function* () {
    const { args, packages, passVariables, python, roles, task } = selected
    if (task === "") {
      return yield* new PythonError({
        reason: "unknown",
        message:
          "task: name one, as in --env.task tasks.py; atropos envs inspect --list shows those of installed packages",
        trace: []
      })
    }
    const bridge = yield* Bridge.make({
      words: yield* PythonSettings.words(python, [packageName, "openai", ...packages]),
      kind: "inspect",
      packageName,
      name: task,
      config: { args, roles },
      pass: passVariables,
      info: Rollouts.Info
    })
    const runs = yield* Rollouts.make({
      name: "inspect",
      bridge,
      settings: { ...selected, runsPerSeat: 1 },
      isCorrect: (score) => score >= 1
    })
    return {
      ...runs,
      claims: { untestable: "the task's own scorers score, after its solver has run" },
      id: ({ item }: Numbered) => [task, args, item],
      label: ({ item }: Numbered) => `${task} ${String(item)}`
    }
  })
)
