/** Lists the findings marked on curves, with links to their groups if these have steps. */
import { Link } from "wouter"
import * as Health from "@atropos/core/health/Health"
import * as Guilty from "../health/Guilty.ts"
import type { Finding } from "../health/useHealth.ts"
import { useHasSteps } from "../state/useHasSteps.ts"
import type * as Curves from "./Curves.ts"
import { useStable } from "./useStable.ts"

/** The findings about some curves; the same array as long as they are the same. */
export const useMarked = (
  findings: ReadonlyArray<Finding>,
  entries: ReadonlyArray<Curves.Entry>
): ReadonlyArray<Finding> =>
  useStable(
    findings.filter(({ metric, source }) =>
      entries.some((entry) => entry.source === source && entry.trace.metric === metric)
    ),
    (left, right) => JSON.stringify(left) === JSON.stringify(right)
  )

interface MarkedProps {
  readonly findings: ReadonlyArray<Finding>
  readonly run: string
}

export const Marked = ({ findings, run }: MarkedProps) => {
  const hasSteps = useHasSteps()
  return (
    <ul className="chart-findings">
      {findings.map((finding) => (
        <li key={`${finding.rule} ${finding.source}`} className={`is-${finding.severity}`}>
          {hasSteps(run) ? (
            <Link href={Guilty.groupsOf(run, finding)} title={Health.rules[finding.rule].words}>
              {wordsOf(finding)}
            </Link>
          ) : (
            <span title={Health.rules[finding.rule].words}>{wordsOf(finding)}</span>
          )}
        </li>
      ))}
    </ul>
  )
}

const wordsOf = ({ from, rule, steps }: Finding): string =>
  `${Health.rules[rule].title}${steps === undefined ? ` from step ${from}` : `: ${stepsOf(steps)}`}`

const stepsOf = (steps: ReadonlyArray<number>): string =>
  steps.length > 4 ? `${steps.length} steps` : `step ${steps.join(", ")}`
