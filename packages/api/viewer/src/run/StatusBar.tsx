/** Shows the status of a run in one bar: progress and state, reward with its curve, held-out score, speed and time. */
import type { ReactNode } from "react"
import * as Catalog from "../chart/Catalog.ts"
import * as SampledAt from "../metrics/Temperatures.ts"
import * as Format from "../ui/Format.ts"
import { change, duration, quantity } from "../ui/Quantity.ts"
import type * as Headline from "./Headline.ts"
import { isMoving, Liveness, type RunStatus } from "./Liveness.tsx"
import { TileCurve } from "../ui/TileCurve.tsx"

export const StatusBar = (status: RunStatus) => {
  const { headline, run } = status
  const { elapsed, evaluation, isWaitingIncluded, remaining, reward, rewards, skipped } = headline
  const { step, stepTime, tokensPerSecond, totalSteps } = headline
  return (
    <dl className="tiles">
      <Tile title="Step" value={step === null ? null : Format.count(step)} kind="state">
        {totalSteps !== null && <>of {Format.count(totalSteps)} · </>}
        <Liveness {...status} />
        {remaining !== null && isMoving(status) && <> · about {duration(remaining)} left</>}
        {skipped !== null && <Skipped {...skipped} />}
        {step !== null && totalSteps !== null && <progress aria-label="Steps done" value={step} max={totalSteps} />}
      </Tile>
      <Tile title="Reward" value={reward === null ? null : quantity(reward.now, "number")} kind="reward">
        {reward !== null && (
          <>
            last-{reward.window} mean, <Change value={reward.now - reward.before} /> vs the {reward.window} before
            {reward.fallen > 0 && (
              <span className="falling"> · down {Format.number(reward.fallen, 2)} from its peak</span>
            )}
            <span className="tile-range">
              {" "}
              · start {quantity(reward.start, "number")} · best {quantity(reward.best.value, "number")} (step{" "}
              {Format.count(reward.best.step)})
            </span>
            <TileCurve values={rewards} />
          </>
        )}
      </Tile>
      {evaluation !== null && (
        <Tile title={`Held-out ${scoreOf(evaluation.name)}`} value={heldOut(evaluation)}>
          {intervalOf(evaluation)}step {Format.count(evaluation.step)}
          <Temperatures run={run} />
        </Tile>
      )}
      <Tile title="Speed" value={tokensPerSecond === null ? null : quantity(tokensPerSecond, "perSecond")} kind="small">
        trained tokens/s, waiting {isWaitingIncluded === false ? "excluded" : "included"}
        {stepTime !== null && <> · {duration(stepTime)}/step</>}
      </Tile>
      <Tile title="Time" value={elapsed === null ? null : duration(elapsed)} kind="small">
        {step === null ? "elapsed" : `in ${Format.plural(step, "step")}`}
      </Tile>
    </dl>
  )
}

/** `eval/percent_correct` as `accuracy`. */
const scoreOf = (name: string): string =>
  name === "eval/percent_correct" ? "accuracy" : name.replace("eval/", "").replaceAll("_", " ")

/** `4.7 → 54.7%`: the first value and the last. */
const heldOut = ({ first, name, value }: NonNullable<Headline.Headline["evaluation"]>): string => {
  const unit = Catalog.unitOf(name)
  return first === null ? quantity(value, unit) : `${quantity(first, unit)} → ${quantity(value, unit)}`
}

const intervalOf = ({ interval, name }: NonNullable<Headline.Headline["evaluation"]>): string => {
  if (interval === null) return ""
  const [low, high] = interval.map((bound) => quantity(bound, Catalog.unitOf(name)))
  return `95% CI ${low} to ${high} · `
}

const Tile = ({
  children,
  kind,
  title,
  value
}: {
  readonly title: string
  readonly value: string | null
  readonly kind?: "state" | "reward" | "small"
  readonly children: ReactNode
}) => (
  <div className={kind === undefined ? "tile" : `tile is-${kind}`}>
    <dt>{title}</dt>
    <dd className="tile-value number">{value ?? "–"}</dd>
    <dd className="tile-note">{value !== null && children}</dd>
  </div>
)

/** Training and evaluation rewards are sampled at different temperatures. */
const Temperatures = ({ run }: Pick<RunStatus, "run">) => {
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

export const Change = ({ value }: { readonly value: number }) => (
  <span className={value > 0 ? "rising" : value < 0 ? "falling" : undefined}>{change(value)}</span>
)
