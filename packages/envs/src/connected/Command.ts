/**
 * Runs any program as an agent, once per rollout; it calls the model through its SDK as usual.
 *
 * A program gets a fresh working directory, the item as JSON on its standard input and in `ITEM`, its own gateway
 * session in the variables that SDKs read (`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`, …), and none of this process's
 * secrets. The reward comes from a second program, a file, a POST or the exit code (`Judging`). Time, output and memory
 * are limited, and nothing outlives the rollout or this process, even after kill -9 (`ProcessSupervisor`).
 */
import { Environment } from "@atropos/core"
import * as Trained from "@atropos/core/gateway/session/Trained"
import { Effect, type FileSystem, Formatter, type Path } from "effect"
import * as Items from "../agent/Items.ts"
import * as SessionRuns from "../agent/SessionRuns.ts"
import * as CodingAgents from "../coding/CodingAgents.ts"
import * as AgentTrial from "../command/AgentTrial.ts"
import * as Attempt from "../command/Attempt.ts"
import * as CommandLine from "../command/CommandLine.ts"
import { settings } from "../command/CommandSettings.ts"
import type * as Program from "../command/Program.ts"
import * as ProcessSupervisor from "../command/ProcessSupervisor.ts"

export { settings }

export const layer = Environment.layer("command", settings, (selected) =>
  Effect.gen(function* () {
    const line = yield* CommandLine.read(selected)
    const { solvedAt } = selected
    const scoreRange = selected.scoreRange ?? (selected.reward === "exit" ? ([0, 1] as const) : null)
    if (scoreRange !== null && !(scoreRange[0] < scoreRange[1])) {
      return yield* new Environment.DefinitionFault({
        part: "score_range",
        message: `score_range must be the lowest and the highest score, such as [0, 1], not ${JSON.stringify(scoreRange)}`
      })
    }
    const source = yield* Items.source({
      items: line.items,
      heldOut: undefined,
      instead: { items: line.items, heldOut: selected.testItems },
      settings: selected,
      evaluationItems: selected.evaluationItems,
      folder: undefined
    })
    const supervisor = yield* ProcessSupervisor.make
    const agent = selected.agent === null ? undefined : yield* CodingAgents.find(selected.agent)
    if (agent !== undefined) yield* AgentTrial.check({ agent, line, settings: selected, supervisor })
    const { definition } = yield* SessionRuns.make<
      Program.Printed,
      ProcessSupervisor.ProgramError,
      FileSystem.FileSystem | Path.Path
    >({
      name: "command",
      settings: selected,
      trained: Trained.by[selected.trained ?? (agent === undefined ? "all" : (agent.trained ?? "tools"))],
      source,
      runner: "program",
      ...(solvedAt !== null && { isCorrect: (score) => score >= solvedAt }),
      begin: ({ item }) => Attempt.begin({ agent, item, line, settings: selected, supervisor })
    })
    return {
      ...definition,
      claims: {
        untestable: "results are only known by running the program",
        ...(scoreRange !== null && { scoreRange })
      },
      label: ({ item }: SessionRuns.Numbered) => Formatter.formatJson(item)
    }
  })
)
