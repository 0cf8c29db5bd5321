/** What is wrong with a run, in words, each with the way to the groups behind it; and by which rules it is judged. */
import * as Health from "@atropos/core/health/Health"
import { Link } from "wouter"
import { plural } from "../ui/Format.ts"
import * as Guilty from "./Guilty.ts"
import type { Finding } from "./useHealth.ts"
import "./health.css"

interface HealthStripProps {
  readonly run: string
  readonly findings: ReadonlyArray<Finding>
}

export const HealthStrip = ({ findings, run }: HealthStripProps) => {
  const broken = findings.filter(({ severity }) => severity === "broken").length
  const suspect = findings.length - broken
  return (
    <section className="health" aria-labelledby="health-title">
      <div className="health-head">
        <h2 id="health-title">Health</h2>
        <p role="status">
          {findings.length === 0
            ? "nothing found"
            : [broken > 0 && `${broken} broken`, suspect > 0 && `${suspect} suspect`].filter(Boolean).join(", ")}
        </p>
        <Rules />
      </div>
      {findings.length > 0 && (
        <ul className="findings">
          {findings.map((finding) => (
            <li key={Health.keyOf(finding)} className={`finding is-${finding.severity}`}>
              <h3 title={Health.rules[finding.rule].words}>{Health.rules[finding.rule].title}</h3>
              <p>{finding.says}</p>
              <Ways run={run} finding={finding} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** Single steps that are offered; more are in the list of all. */
const mostSteps = 6

const Ways = ({ finding, run }: { readonly run: string; readonly finding: Finding }) => {
  const { from, steps, to } = finding
  return (
    <p className="finding-ways">
      {steps === undefined ? (
        <Link className="button small" href={Guilty.groupsOf(run, finding)}>
          {from === to ? `Groups of step ${from}` : `Groups from step ${from}`}
        </Link>
      ) : (
        <>
          {steps.slice(0, mostSteps).map((step) => (
            <Link key={step} className="button small" href={Guilty.groupsOf(run, finding, step)}>
              Groups of step {step}
            </Link>
          ))}
          {steps.length > mostSteps && (
            <Link className="button small" href={Guilty.groupsOf(run, finding)}>
              All from {from} to {to}
            </Link>
          )}
        </>
      )}
    </p>
  )
}

const Rules = () => (
  <details className="health-rules">
    <summary>{plural(Health.ruleNames.length, "rule")}</summary>
    <dl>
      {Health.ruleNames.map((name) => (
        <div key={name}>
          <dt>
            {Health.rules[name].title} <code>{name}</code>
          </dt>
          <dd>{Health.rules[name].words}.</dd>
        </div>
      ))}
    </dl>
  </details>
)
