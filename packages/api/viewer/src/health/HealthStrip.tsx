/**
 * Shows the health findings of a run: a card per cause, with links to its groups and its consequences; and the rules.
 */
import * as Health from "@atropos/core/health/Health"
import { Link } from "wouter"
import { Ago } from "../ui/Ago.tsx"
import { plural } from "../ui/Format.ts"
import { servicePath } from "../route/Location.ts"
import { useHasSteps } from "../state/useHasSteps.ts"
import * as Guilty from "./Guilty.ts"
import type { Finding } from "./useHealth.ts"
import "./health.css"

interface HealthStripProps {
  readonly run: string
  readonly findings: ReadonlyArray<Finding>
  /** Time of the last row that was judged, in milliseconds since the epoch; undefined if the run is not followed. */
  readonly at?: number | undefined
}

export const HealthStrip = ({ at, findings, run }: HealthStripProps) => {
  const hasSteps = useHasSteps()
  const cards = Health.cards(findings)
  const broken = cards.filter(({ cause }) => cause.severity === "broken").length
  const suspect = cards.length - broken
  return (
    <section className="health" aria-labelledby="health-title">
      <div className="health-head">
        <h2 id="health-title">Health</h2>
        <p role="status" className={findings.length === 0 ? "is-fine" : undefined}>
          {findings.length === 0
            ? "no issues"
            : [broken > 0 && plural(broken, "error"), suspect > 0 && plural(suspect, "warning")]
                .filter(Boolean)
                .join(", ")}
        </p>
        {at !== undefined && (
          <p>
            as of <Ago at={at} />
          </p>
        )}
        <Rules />
      </div>
      {findings.length > 0 && (
        <ul className="findings">
          {cards.map(({ cause, consequences }) => (
            <li key={Health.keyOf(cause)} className={`finding is-${cause.severity}`}>
              <h3 title={Health.rules[cause.rule].words}>{Health.rules[cause.rule].title}</h3>
              <div>
                <p>{cause.message}</p>
                <Consequences findings={consequences} />
              </div>
              {hasSteps(run) && <Ways run={run} finding={cause} />}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** Consequences of a cause, as worded by the rules. */
const Consequences = ({ findings }: { readonly findings: ReadonlyArray<Finding> }) =>
  findings.length > 0 && (
    <details className="consequences">
      <summary>{plural(findings.length, "consequence")}</summary>
      <ul>
        {findings.map((finding) => (
          <li key={Health.keyOf(finding)}>
            <strong>{Health.rules[finding.rule].title}</strong>: {finding.message}
          </li>
        ))}
      </ul>
    </details>
  )

/** Rules without groups to show: the service page has errors, queue and servers. */
const withoutGroups: ReadonlySet<Finding["rule"]> = new Set(["stalled", "lost", "failures"])

/** Max single steps linked; the list of all has the rest. */
const maxSteps = 6

const Ways = ({ finding, run }: { readonly run: string; readonly finding: Finding }) => {
  const { from, rule, steps, to } = finding
  if (withoutGroups.has(rule)) {
    return (
      <p className="finding-ways">
        <Link className="button small" href={servicePath(run)}>
          Service and errors
        </Link>
      </p>
    )
  }
  return (
    <p className="finding-ways">
      {steps === undefined ? (
        <Link className="button small" href={Guilty.groupsOf(run, finding)}>
          {from === to ? `Groups of step ${from}` : `Groups from step ${from}`}
        </Link>
      ) : (
        <>
          {steps.slice(0, maxSteps).map((step) => (
            <Link key={step} className="button small" href={Guilty.groupsOf(run, finding, step)}>
              Groups of step {step}
            </Link>
          ))}
          {steps.length > maxSteps && (
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
    <summary>{plural(Health.ruleNames.length, "check")}</summary>
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
