/** Formats shares and means with their intervals. */
import type { Compared } from "@atropos/core/evaluation/Comparison"
import type { Estimate } from "@atropos/core/evaluation/Summary"
import { number } from "../ui/Format.ts"

export const percent = (share: number): string => `${(100 * share).toFixed(1)}%`

/** In signed percentage points. */
const points = (difference: number): string => `${difference < 0 ? "−" : "+"}${(100 * Math.abs(difference)).toFixed(1)}`

const signed = (value: number): string => `${value < 0 ? "−" : "+"}${number(Math.abs(value), 3)}`

export const Share = ({ estimate: { interval, value } }: { readonly estimate: Estimate }) => (
  <span>
    {percent(value)}
    {interval !== undefined && (
      <span className="muted" title="95% CI">{` ${percent(interval.lower)} to ${percent(interval.upper)}`}</span>
    )}
  </span>
)

export const Mean = ({ estimate: { interval, value } }: { readonly estimate: Estimate }) => (
  <>
    {number(value, 3)}
    {interval !== undefined && (
      <span className="muted" title="95% CI">{` ${number(interval.lower, 3)} to ${number(interval.upper, 3)}`}</span>
    )}
  </>
)

/** `85.7% → 88.9%, +3.2 ± 1.0 points`: the ± is half the 95% interval. */
export const headline = ({ a, b, interval, value }: Compared): string => {
  const margin = interval === undefined ? "" : ` ± ${((100 * (interval[1] - interval[0])) / 2).toFixed(1)}`
  return `${percent(a)} → ${percent(b)}, ${points(value)}${margin} points`
}

/** True if the interval of the difference excludes zero. */
const isClear = ({ interval }: Compared): boolean => interval !== undefined && (interval[0] > 0 || interval[1] < 0)

export const Difference = ({ compared, isShare }: { readonly compared: Compared; readonly isShare: boolean }) => {
  const { interval, p, value } = compared
  const show = isShare ? points : signed
  return (
    <>
      <span className={isClear(compared) ? (value > 0 ? "rising" : "falling") : undefined}>{show(value)}</span>
      {interval !== undefined && (
        <span className="muted" title="95% CI">{` ${show(interval[0])} to ${show(interval[1])}`}</span>
      )}
      {p !== undefined && (
        <span className="muted" title="McNemar’s exact test">{`, p ${p < 0.0001 ? "< 0.0001" : number(p, 2)}`}</span>
      )}
    </>
  )
}
