/** Shows the status of a run in one bar: progress and state, reward with its curve, held-out score, speed and time. */
import type * as Health from "@atropos/core/health/Health"
import type { ReactNode } from "react"
import * as Catalog from "../chart/Catalog.ts"
import * as SampledAt from "../metrics/Temperatures.ts"
import * as Format from "../ui/Format.ts"
import { change, duration, quantity } from "../ui/Quantity.ts"
import type * as Headline from "./Headline.ts"
import type { HeldOut } from "./HeldOut.ts"
import { isMoving, Liveness, type RunStatus } from "./Liveness.tsx"
import { TileCurve } from "../ui/TileCurve.tsx"

/** `isLossFirst`: the loss uses no rewards, as in supervised training, and shows the progress. */
export const StatusBar = ({ isLossFirst, ...status }: RunStatus & { readonly isLossFirst: boolean }) => {
  const { headline, run } = status
  const { elapsed, evaluation, isWaitingIncluded, loss, losses, remaining, reward, rewards, skipped } = headline
  const { recentSteps, step, stepTime, tokensPerSecond, totalSteps } = headline
  return (
    <dl className="tiles">
      <Tile title="Step" value={step === null ? null : Format.count(step)} kind="state">
        {totalSteps !== null && <>of {Format.count(totalSteps)} · </>}
        <Liveness {...status} />
        {remaining !== null && isMoving(status) && <> · about {duration(remaining)} left</>}
        {skipped !== null && <Skipped {...skipped} />}
        {step !== null && totalSteps !== null && <progress aria-label="Steps done" value={step} max={totalSteps} />}
      </Tile>
      {isLossFirst && loss !== null ? (
        <Tile title="Loss" value={quantity(loss.now, "number")} kind="reward">
          <Recent course={loss} />
          <TileCurve values={losses} />
        </Tile>
      ) : (
        <Tile title="Reward" value={reward === null ? null : quantity(reward.now, "number")} kind="reward">
          {reward !== null && (
            <>
              <Recent course={reward} isBetterHigher />
              <TileCurve values={rewards} />
            </>
          )}
        </Tile>
      )}
      {evaluation !== null && (
        <Tile title={`Held-out ${scoreOf(evaluation.name)}`} value={heldOut(evaluation)}>
          {intervalOf(evaluation)}
          <ChangeOfHeldOut {...evaluation} />
          step {Format.count(evaluation.step)}
          {evaluation.best.value > Math.max(evaluation.value, evaluation.first ?? evaluation.value) && (
            <>
              {" "}
              · best {quantity(evaluation.best.value, Catalog.unitOf(evaluation.name))} (step{" "}
              {Format.count(evaluation.best.step)})
            </>
          )}
          <Temperatures run={run} />
        </Tile>
      )}
      <Tile title="Speed" value={tokensPerSecond === null ? null : quantity(tokensPerSecond, "perSecond")} kind="small">
        trained tokens/s, waiting {isWaitingIncluded === false ? "excluded" : "included"}
        {stepTime !== null && <> · {duration(stepTime)}/step</>}
        {recentSteps !== null && <> · last {recentSteps} steps</>}
      </Tile>
      <Tile title="Time" value={elapsed === null ? null : duration(elapsed)} kind="small">
        {step === null ? "elapsed" : `in ${Format.plural(step, "step")}`}
      </Tile>
    </dl>
  )
}

/** The last steps compared with those before, the first and the best ones: means over as many steps. */
const Recent = ({
  course: { before, best, fallen, now, start, window },
  isBetterHigher = false
}: {
  readonly course: Health.Course
  readonly isBetterHigher?: boolean
}) => (
  <>
    last-{window} mean, {isBetterHigher ? <Change value={now - before} /> : change(now - before)} vs the {window} before
    {isBetterHigher && fallen > 0 && <span className="falling"> · down {Format.number(fallen, 2)} from its peak</span>}
    <span className="tile-range">
      {" "}
      · first {window}: {quantity(start, "number")}
      {isBetterHigher && (
        <>
          {" "}
          · best {window}: {quantity(best.value, "number")} (to step {Format.count(best.step)})
        </>
      )}
    </span>
  </>
)

/** `+55 points · `, `−4.2 points, not significant · ` */
const ChangeOfHeldOut = ({ change: course, name }: HeldOut) => {
  if (course === null) return null
  const isShare = Catalog.unitOf(name) === "share"
  const text = isShare ? `${change(course.value * 100)} points` : change(course.value)
  const tone = course.kind === "higher" ? "rising" : course.kind === "lower" ? "falling" : undefined
  return (
    <>
      <span className={tone}>{text}</span>
      {course.kind === "not significant" && ", not significant"} ·{" "}
    </>
  )
}

/** `eval/percent_correct` as `accuracy`. */
const scoreOf = (name: string): string =>
  name === "eval/percent_correct" ? "accuracy" : name.replace("eval/", "").replaceAll("_", " ")

/** `4.7 → 54.7%`: the first value and the last. */
export const heldOut = ({ first, name, value }: HeldOut): string => {
  const unit = Catalog.unitOf(name)
  return first === null ? quantity(value, unit) : `${quantity(first, unit)} → ${quantity(value, unit)}`
}

const intervalOf = ({ interval, name }: HeldOut): string => {
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
