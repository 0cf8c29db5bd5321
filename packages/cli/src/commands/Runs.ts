/** `atropos runs`: lists the runs of a service; `atropos runs delete NAME`: deletes one. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as ServiceApi from "@atropos/core/service/ServiceApi"
import type { TrajectoryApi, TrajectoryError } from "@atropos/core"
import { Config, Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as ServiceWait from "../base/ServiceWait.ts"
import * as Table from "../base/Table.ts"
import * as Terminal from "../base/Terminal.ts"
import type { MakeCommand } from "./CliCommand.ts"
import * as Services from "../config/Services.ts"

const name: string = "runs"

const apiUrl = Flag.String("api-url").pipe(
  Flag.withDescription("trajectory service of the runs [default: http://localhost:8000]"),
  Flag.withDefault("http://localhost:8000")
)

/** The service client, with its failures mapped to those of the command. */
const serviceOf = Effect.fnUntraced(function* (text: string, run?: string) {
  const url = text.replace(/(?<!\/)\/+$/, "")
  const token = yield* Config.option(Config.Redacted("ATROPOS_TOKEN"))
  const service = yield* ServiceApi.make({
    url,
    ...(run !== undefined && { run }),
    ...(Option.isSome(token) && { token: token.value })
  })
  const failed = (error: TrajectoryError.TrajectoryError) =>
    new CommandFailed({ message: `the trajectory service at ${url}: ${error.message}`, cause: error })
  return {
    ...service,
    ask: <A>(effect: Parameters<typeof service.call<A>>[0]) =>
      service.call(effect).pipe(Effect.mapError(failed), ServiceWait.reported(url))
  }
})

const stateOf = ({ activity, ended, registered, started }: TrajectoryApi.RunRow): string => {
  if (activity !== undefined && activity.state !== "starting") return activity.state
  return ended
    ? "ended"
    : started
      ? (activity?.state ?? "current")
      : registered
        ? "waiting for its trainer"
        : "without a trainer"
}

/** The reason why it stalled or ended without being stopped. */
const reasonOf = ({ activity }: TrajectoryApi.RunRow): string =>
  Terminal.escape(activity?.reason ?? "").replaceAll("\n", " ")

const list = Command.make(
  name,
  { apiUrl, json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false)) },
  ({ apiUrl, json }) =>
    Effect.gen(function* () {
      const { api, ask } = yield* serviceOf(apiUrl)
      const { runs } = yield* ask(api.reading.runs())
      if (json) return yield* Console.log(JSON.stringify(runs, null, 2))
      if (runs.length === 0) return yield* Console.log("no run")
      const rows = runs.map((run) => [
        run.name,
        stateOf(run),
        `${run.currentStep}/${run.numSteps}`,
        String(run.batchSize)
      ])
      const reasons = runs.map(reasonOf)
      const hasReasons = reasons.some((reason) => reason !== "")
      yield* Console.log(
        Table.columns(
          ["run", "state", "step", "batch size", ...(hasReasons ? ["reason"] : [])],
          hasReasons ? rows.map((row, index) => [...row, reasons[index]!]) : rows
        )
      )
    }).pipe(Effect.provide(NodeHttpClient.layerUndici), Effect.mapError(Services.toFailure))
).pipe(
  Command.withExamples([
    { command: "atropos runs", description: "the runs of the service on this machine" },
    {
      command: "atropos runs delete gsm8k-1 --yes",
      description: "delete one, with its rollouts, metrics and evaluations"
    }
  ])
)

const remove = Command.make(
  "delete",
  {
    run: Argument.String("run").pipe(Argument.withDescription("run to delete, including ended ones of that name")),
    apiUrl,
    yes: Flag.Boolean("yes").pipe(
      Flag.withDescription("confirm: rollouts, metrics, notes, evaluations and saved states are lost"),
      Flag.withDefault(false)
    )
  },
  ({ apiUrl, run, yes }) =>
    Effect.gen(function* () {
      const { api, ask } = yield* serviceOf(apiUrl, run)
      const { total } = yield* ask(api.reading.rollouts({ params: { run }, query: { limit: 1 } }))
      const what = `run ${run} with its ${total} groups, its metrics, notes, evaluations and saved states`
      if (!yes) return yield* new UsageError({ message: `this would delete ${what}. To do so, add --yes` })
      yield* ask(api.runs.delete({ params: { run } }))
      yield* Console.log(`deleted ${what}`)
    }).pipe(Effect.provide(NodeHttpClient.layerUndici), Effect.mapError(Services.toFailure))
).pipe(Command.withDescription("Delete an inactive run of a service"))

export const make: MakeCommand = (words) =>
  Effect.succeed(
    words[words.indexOf(name) + 1] === "delete"
      ? { command: Command.make(name).pipe(Command.withSubcommands([remove])), booleans: new Set(["yes"]) }
      : { command: list, booleans: new Set(["json"]) }
  )
