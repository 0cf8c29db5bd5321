/** Lists the findings marked on curves, with links to their groups. */
import { Link } from "wouter"
import * as Health from "@atropos/core/health/Health"
import * as Guilty from "../health/Guilty.ts"
import type { Finding } from "../health/useHealth.ts"
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

export const Marked = ({ findings, run }: { readonly findings: ReadonlyArray<Finding>; readonly run: string }) => (
  <ul className="chart-findings">
    {findings.map((finding) => (
      <li key={`${finding.rule} ${finding.source}`} className={`is-${finding.severity}`}>
        <Link href={Guilty.groupsOf(run, finding)} title={Health.rules[finding.rule].words}>
          {Health.rules[finding.rule].title}
          {finding.steps === undefined ? ` from step ${finding.from}` : `: ${stepsOf(finding.steps)}`}
        </Link>
      </li>
    ))}
  </ul>
)

const stepsOf = (steps: ReadonlyArray<number>): string =>
  steps.length > 4 ? `${steps.length} steps` : `step ${steps.join(", ")}`
