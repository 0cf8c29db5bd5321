/**
 * Shows the components of a rollout's score as one stacked bar, positive parts right of zero and negative parts left,
 * on a common scale for the group; and their values.
 */
import { number } from "../ui/Format.ts"
import type { Rollout } from "./model/Group.ts"

export interface ComponentScale {
  /** In order of first appearance: each has its colour. */
  readonly names: ReadonlyArray<string>
  /** Max extents to the left and right, as absolute values. */
  readonly left: number
  readonly right: number
}

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

export const scaleOf = (rollouts: ReadonlyArray<Rollout>): ComponentScale => ({
  names: [...new Set(rollouts.flatMap(({ rewards }) => rewards.map(([name]) => name)))],
  left: Math.max(0, ...rollouts.map(({ rewards }) => -sum(rewards.map(([, value]) => Math.min(0, value))))),
  right: Math.max(0, ...rollouts.map(({ rewards }) => sum(rewards.map(([, value]) => Math.max(0, value)))))
})

const tones = 8

const toneOf = (scale: ComponentScale, name: string): string =>
  `var(--series-${1 + (scale.names.indexOf(name) % tones)})`

/** The parts of the bar, in percent of its width. */
const partsOf = (rewards: Rollout["rewards"], scale: ComponentScale) => {
  const whole = scale.left + scale.right || 1
  let [left, right] = [scale.left, scale.left]
  return rewards.map(([name, value]) => {
    if (value < 0) left += value
    const from = value < 0 ? left : right
    if (value > 0) right += value
    return { name, value, from: (100 * from) / whole, width: (100 * Math.abs(value)) / whole }
  })
}

export const Components = ({
  rewards,
  scale
}: {
  readonly rewards: Rollout["rewards"]
  readonly scale: ComponentScale
}) => {
  const whole = scale.left + scale.right || 1
  const parts = partsOf(rewards, scale)
  return (
    <div className="components">
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        {parts.map(({ from, name, width }) => (
          <rect key={name} x={from} y="0" width={width} height="6" style={{ fill: toneOf(scale, name) }} />
        ))}
        <rect className="components-zero" x={(100 * scale.left) / whole} y="0" width="0.4" height="6" />
      </svg>
      <ul aria-label="Components of the reward">
        {parts.map(({ name, value }) => (
          <li key={name} title={`component of the reward, before its weight: ${name}`}>
            <i style={{ background: toneOf(scale, name) }} aria-hidden="true" />
            {name} {number(value, 3)}
          </li>
        ))}
      </ul>
    </div>
  )
}
