/**
 * Follows a run of a service: a board on a terminal, otherwise a line per step, until stopped (`q` on a terminal). If
 * the service does not answer, this is shown and polling continues.
 */
import * as ServiceWait from "../base/ServiceWait.ts"
import * as ServiceApi from "@atropos/core/service/ServiceApi"
import type { TrajectoryApi, TrajectoryError } from "@atropos/core"
import { Clock, Console, Effect, Option, type Redacted, Schedule } from "effect"
import * as Keys from "../base/Keys.ts"
import * as Report from "../base/Report.ts"
import * as Terminal from "../base/Terminal.ts"
import { wrap } from "../base/Wrap.ts"
import { CommandFailed } from "../base/Failure.ts"
import * as State from "./State.ts"

export interface Options {
  readonly url: string
  readonly token?: Redacted.Redacted
  /** Default: the most recently active run. */
  readonly run: string | undefined
  readonly once: boolean
}

const every = "2 seconds"
const past = 200
const pageLength = 1000
const lineEveryMillis = 5000

const newestRun = Effect.fnUntraced(function* ({ api, call }: ServiceApi.ServiceApi) {
  const { runs } = yield* call(api.reading.runs())
  return runs[0]?.name
})

/** Fetches everything since the last call. */
const watch = (service: ServiceApi.ServiceApi, run: string) => {
  const { api, call } = service
  const params = { run }
  let after: string | undefined
  return Effect.gen(function* () {
    const known = yield* call(api.runs.get({ params }))
    const rows: Array<TrajectoryApi.MetricsRow> = []
    for (;;) {
      const query = after === undefined ? { fromStep: Math.max(0, known.currentStep - past) } : { after }
      const page = yield* call(api.reading.metrics({ params, query: { ...query, limit: pageLength } }))
      rows.push(...page.metrics)
      after = page.metrics.at(-1)?.id ?? after
      if (page.next === null) break
    }
    const summary = yield* call(api.runs.summary({ params }))
    const { environments } = yield* call(api.reading.environments({ params }))
    const { runs } = yield* call(api.reading.runs())
    const activity = runs.find(({ name }) => name === run)?.activity
    return { run: known, summary, environments, rows, ...(activity && { activity }) } satisfies State.Poll
  })
}

const failed = (url: string) => (error: TrajectoryError.TrajectoryError) =>
  new CommandFailed({ message: `the trajectory service at ${url}: ${error.message}`, cause: error })

export const run = Effect.fn("Top.run")(function* (options: Options) {
  const place = yield* Terminal.Footer
  const { token, url } = options
  const serviceOf = (run?: string) =>
    ServiceApi.make({ url, ...(token !== undefined && { token }), ...(run !== undefined && { run }) })
  const service = yield* serviceOf()
  const named = options.run ?? (yield* newestRun(service).pipe(Effect.mapError(failed(url)), ServiceWait.reported(url)))
  if (named === undefined) {
    return yield* new CommandFailed({ message: `the trajectory service at ${url} has no runs yet` })
  }
  const look = watch(service, named)
  const state = State.make()
  state.update(yield* look.pipe(Effect.mapError(failed(url)), ServiceWait.reported(url)))
  if (options.once) return yield* Console.log(`${named}  ${state.line()}`)
  // Stopping the display is not a failure.
  yield* Report.done
  const { columns } = place
  const keys = place.isWatched ? yield* Keys.Keys : Option.none()
  const quits = Option.match(keys, { onNone: () => Effect.never, onSome: Keys.pressed("q") })
  const heading = `${named} at ${url}${Option.isSome(keys) ? " (q quits)" : ""}`
  if (columns === undefined) {
    let printed = ""
    let toldAt = Number.NEGATIVE_INFINITY
    const printLine = Effect.fnUntraced(function* (line: string) {
      const now = yield* Clock.currentTimeMillis
      if (line === printed || now - toldAt < lineEveryMillis) return
      printed = line
      toldAt = now
      yield* Console.log(line)
    })
    yield* Console.log(heading)
    yield* printLine(state.line())
    return yield* Effect.matchEffect(look, {
      onSuccess: (seen) => Effect.suspend(() => (state.update(seen), printLine(state.line()))),
      onFailure: ({ message }) => printLine(`no answer: ${message}`)
    }).pipe(Effect.repeat(Schedule.spaced(every)), Effect.raceFirst(quits))
  }
  const colour = Terminal.hasColours()
  const show = (problem?: string) =>
    Effect.sync(() => {
      const width = Math.max(20, columns() - 1)
      const first = problem === undefined ? heading : `${heading}: ${problem}`
      place.show([...wrap(Terminal.escape(first).replaceAll("\n", " "), width), ...state.lines({ width, colour })])
    })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => place.leave(state.lines({ width: Math.max(20, columns() - 1), colour })))
  )
  yield* show()
  return yield* Effect.matchEffect(look, {
    onSuccess: (seen) => Effect.suspend(() => (state.update(seen), show())),
    onFailure: ({ message }) => show(`no answer: ${message}`)
  }).pipe(Effect.repeat(Schedule.spaced(every)), Effect.raceFirst(quits))
}, Effect.scoped)
