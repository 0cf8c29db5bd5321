/** Shows the headline metrics: tiles for one run, a comparison table for several. */
import * as Health from "@atropos/core/health/Health"
import type { ReactNode } from "react"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import type * as Wire from "../source/Wire.ts"
import { useSource } from "../state/SourceContext.tsx"
import * as Format from "../ui/Format.ts"
import * as Catalog from "../chart/Catalog.ts"
import { Swatch } from "../chart/Legend.tsx"
import * as Headline from "./Headline.ts"
import { change, duration, quantity } from "../ui/Quantity.ts"
import type { RunMetrics, RunState } from "../metrics/RunMetrics.ts"
import * as SampledAt from "../metrics/Temperatures.ts"
import { useRunStates } from "../metrics/useRunMetrics.ts"

interface HeadlinesProps {
  readonly metrics: RunMetrics
  readonly runs: ReadonlyArray<Wire.Run>
  readonly colors: ReadonlyArray<string>
}

interface Row {
  readonly run: RunState
  /** The last activity reported by the service; undefined if unsupported. */
  readonly activity: Wire.Run["activity"]
  readonly color: string
  readonly headline: Headline.Headline
}

export const Headlines = ({ colors, metrics, runs }: HeadlinesProps) => {
  const rows = useRunStates(metrics).map((run) => {
    const own = runs.find(({ name }) => name === run.name)
    return {
      run,
      activity: own?.activity,
      color: colors[run.tone % colors.length]!,
      headline: Headline.of(run.table, own?.num_steps ?? 0)
    }
  })
  const [first] = rows
  if (first === undefined) return null
  return rows.length === 1 ? <Tiles {...first} /> : <Comparison rows={rows} />
}

const Tiles = ({ activity, headline, run }: Row) => {
  const { elapsed, evaluation, remaining, reward, skipped, step, stepTime, tokensPerSecond, totalSteps } = headline
  return (
    <dl className="tiles">
      <Tile title="Step" value={step === null ? null : Format.count(step)}>
        {totalSteps !== null && <>of {Format.count(totalSteps)} · </>}
        <Liveness run={run} headline={headline} activity={activity} />
        {skipped !== null && <Skipped {...skipped} />}
        {step !== null && totalSteps !== null && <progress aria-label="Steps done" value={step} max={totalSteps} />}
      </Tile>
      <Tile title="Reward" value={reward === null ? null : quantity(reward.now, "number")}>
        {reward !== null && (
          <>
            last-{reward.window} mean, <Change value={reward.now - reward.before} /> vs the {reward.window} before ·
            start {quantity(reward.start, "number")} · best {quantity(reward.best.value, "number")} (step{" "}
            {Format.count(reward.best.step)})
            {reward.fallen > 0 && (
              <span className="falling"> · down {Format.number(reward.fallen, 2)} from its peak</span>
            )}
          </>
        )}
      </Tile>
      {evaluation !== null && (
        <Tile title="Evaluation" value={quantity(evaluation.value, Catalog.unitOf(evaluation.name))}>
          held-out {shownScore(evaluation.name)} at step {Format.count(evaluation.step)}
          <Temperatures run={run} />
        </Tile>
      )}
      <Tile title="Speed" value={tokensPerSecond === null ? null : quantity(tokensPerSecond, "perSecond")}>
        trained tokens/s, waiting included{stepTime !== null && <> · {duration(stepTime)}/step</>}
      </Tile>
      <Tile title="Time" value={elapsed === null ? null : duration(elapsed)}>
        {step === null ? "elapsed" : `in ${Format.plural(step, "step")}`}
        {remaining !== null && isMoving(run, activity) && <> · about {duration(remaining)} left</>}
      </Tile>
    </dl>
  )
}

/** `eval/percent_correct` as `accuracy`. */
const shownScore = (name: string): string =>
  name === "eval/percent_correct" ? "accuracy" : name.replace("eval/", "").replaceAll("_", " ")

const Tile = ({
  children,
  title,
  value
}: {
  readonly title: string
  readonly value: string | null
  readonly children: ReactNode
}) => (
  <div className="tile">
    <dt>{title}</dt>
    <dd className="tile-value number">{value ?? "–"}</dd>
    <dd className="tile-note">{value !== null && children}</dd>
  </div>
)

/** Training and evaluation rewards are sampled at different temperatures. */
const Temperatures = ({ run }: Pick<Row, "run">) => {
  const evaluated = SampledAt.temperatureOf([run], "eval/temperature")
  const trained = SampledAt.temperatureOf([run], "train/temperature")
  if (evaluated === undefined) return null
  return (
    <>
      {" "}
      · temperature {evaluated}
      {trained !== undefined && trained !== evaluated && <> (training: {trained})</>}
    </>
  )
}

const Skipped = ({ notFinite, steps }: NonNullable<Headline.Headline["skipped"]>) => (
  <span className="falling">
    {" "}
    · {Format.plural(steps, "step")} skipped{notFinite > 0 && `, ${Format.count(notFinite)} NaN or infinite`}
  </span>
)

const Change = ({ value }: { readonly value: number }) => (
  <span className={value > 0 ? "rising" : value < 0 ? "falling" : undefined}>{change(value)}</span>
)

const words: { readonly [State in RunState["live"]]: string } = {
  connecting: "connecting",
  live: "running",
  waiting: "interrupted",
  static: "saved"
}

/** True if steps are expected. */
const isMoving = (run: RunState, activity: Wire.Run["activity"]): boolean =>
  run.live !== "waiting" && (activity === undefined || activity.state === "running" || activity.state === "starting")

/** Describes the state of a run, with the time since it last moved. */
const standing = ({ idle_seconds, state }: NonNullable<Wire.Run["activity"]>): string =>
  state === "stalled" || state === "stopped"
    ? `${state} ${Health.Activity.span(idle_seconds)}${state === "stopped" ? " ago" : ""}`
    : state

const Liveness = ({ activity, headline: { step, totalSteps }, run }: Pick<Row, "run" | "headline" | "activity">) => {
  const { stepOf } = useSource()
  // The last rows may not have arrived before the service ended.
  const last = run.live === "waiting" ? Math.max(step ?? 0, stepOf(run.name) ?? 0) : step
  const isDone = last !== null && totalSteps !== null && last >= totalSteps
  if (run.phase === "failed") return <span className="falling">{run.error?.message ?? "failed"}</span>
  if (run.phase === "loading") return <span>loading, {Format.count(run.loaded)} rows so far</span>
  if (isDone) return <span>done</span>
  // Unknown while the service does not answer.
  if (activity === undefined || run.live === "waiting") {
    return <span className={`liveness ${run.live}`}>{words[run.live]}</span>
  }
  return (
    <span className={`liveness ${run.live} is-${activity.state}`} title={activity.reason ?? undefined}>
      {standing(activity)}
    </span>
  )
}

const Comparison = ({ rows }: { readonly rows: ReadonlyArray<Row> }) => (
  <DataTable caption="Run comparison" columns={columns} rows={rows} rowKey={({ run }) => run.name} />
)

const figure = (
  id: string,
  title: string,
  value: (headline: Headline.Headline) => number | null,
  shown: (value: number) => ReactNode
): Column<Row> => ({
  id,
  title,
  isNumber: true,
  value: ({ headline }) => value(headline),
  cell: ({ headline }) => {
    const found = value(headline)
    return found === null ? "–" : shown(found)
  }
})

const columns: ReadonlyArray<Column<Row>> = [
  {
    id: "run",
    title: "Run",
    value: ({ run }) => run.name,
    cell: ({ color, run }) => (
      <span className="run-name">
        <Swatch color={color} />
        {run.name}
      </span>
    )
  },
  {
    id: "state",
    title: "State",
    value: ({ activity, run }) => activity?.state ?? run.phase,
    cell: ({ activity, headline, run }) => <Liveness run={run} headline={headline} activity={activity} />
  },
  figure("step", "Step", ({ step }) => step, Format.count),
  figure(
    "reward",
    "Reward",
    ({ reward }) => reward?.now ?? null,
    (value) => quantity(value, "number")
  ),
  figure(
    "recent",
    `Δ last ${Headline.recentSteps}`,
    ({ reward }) => (reward === null ? null : reward.now - reward.before),
    (value) => <Change value={value} />
  ),
  figure(
    "best",
    "Best",
    ({ reward }) => reward?.best.value ?? null,
    (value) => quantity(value, "number")
  ),
  {
    id: "evaluation",
    title: "Evaluation",
    isNumber: true,
    value: ({ headline: { evaluation } }) => evaluation?.value ?? null,
    cell: ({ headline: { evaluation } }) =>
      evaluation === null ? "–" : quantity(evaluation.value, Catalog.unitOf(evaluation.name))
  },
  figure(
    "tokens",
    "Tokens/s",
    ({ tokensPerSecond }) => tokensPerSecond,
    (value) => quantity(value, "perSecond")
  ),
  figure("pace", "Step time", ({ stepTime }) => stepTime, duration),
  figure("elapsed", "Time", ({ elapsed }) => elapsed, duration)
]
