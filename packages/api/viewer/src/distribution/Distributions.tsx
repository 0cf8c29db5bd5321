/**
 * Shows the distributions of scores, advantages and lengths over a run's steps as heat maps, requested from the service
 * when they come into view, and again as the run grows.
 */
import { useEffect, useRef, useState } from "react"
import { useLocation } from "wouter"
import { drawElements } from "../save/ElementPicture.ts"
import { SaveMenu } from "../save/SaveMenu.tsx"
import { useRemote } from "../state/useRemote.ts"
import * as Format from "../ui/Format.ts"
import { Failure, Loading } from "../ui/Note.tsx"
import * as Cells from "./Cells.ts"
import { HeatMap } from "./HeatMap.tsx"
import "./distribution.css"

interface DistributionsProps {
  readonly run: string
  readonly environments: ReadonlyArray<string>
  readonly step: number
}

const measures: ReadonlyArray<{ readonly measure: Cells.Measure; readonly title: string; readonly help: string }> = [
  { measure: "score", title: "Scores", help: "Score distribution per step." },
  { measure: "advantage", title: "Advantages", help: "By the run's rule; zero without a learning signal." },
  { measure: "length", title: "Lengths", help: "Trained tokens per rollout, per step." }
]

const nothing: { readonly [M in Cells.Measure]: string } = {
  score: "No batches yet.",
  advantage: "Not available yet, or not derivable from groups alone.",
  length: "No group of a batch indexed yet."
}

/** Changes whenever a run is 5% longer. */
const growthOf = (step: number): number => Math.floor(Math.log(step + 1) / Math.log(1.05))

export const Distributions = ({ environments, run, step }: DistributionsProps) => {
  const section = useRef<HTMLElement>(null)
  const [isSeen, setIsSeen] = useState(false)
  const [selected, setSelected] = useState<string | null>(null)
  const environment = selected !== null && environments.includes(selected) ? selected : null
  useEffect(() => {
    const element = section.current
    if (element === null || isSeen) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting === true && setIsSeen(true), {
      root: element.closest(".main"),
      rootMargin: "240px"
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [isSeen])
  return (
    <section className="chart-section" ref={section}>
      <div className="section-head">
        <h2>Distributions</h2>
        {environments.length > 1 && (
          <select
            aria-label="Environment"
            value={environment ?? ""}
            onChange={({ target }) => setSelected(target.value || null)}
          >
            <option value="">all environments</option>
            {environments.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </div>
      <div className="charts heats">
        {measures.map((one) => (
          <One key={one.measure} {...one} run={run} environment={environment} growth={isSeen ? growthOf(step) : null} />
        ))}
      </div>
    </section>
  )
}

interface OneProps {
  readonly measure: Cells.Measure
  readonly title: string
  readonly help: string
  readonly run: string
  readonly environment: string | null
  /** Null: not in view yet. */
  readonly growth: number | null
}

const One = ({ environment, growth, help, measure, run, title }: OneProps) => {
  const [, navigate] = useLocation()
  const body = useRef<HTMLDivElement>(null)
  const name = `Distribution of ${title.toLowerCase()}`
  const of = JSON.stringify([run, measure, environment])
  const { error, reload, value } = useRemote(
    growth === null ? null : `distribution:${of}:${growth}`,
    async (source, signal) => ({
      of,
      distribution: await source.distribution(run, { measure, ...(environment !== null && { environment }) }, signal)
    })
  )
  // Hidden after switching to another run or environment.
  const distribution = value?.of === of ? value.distribution : undefined
  return (
    <figure className="chart heat-figure" aria-label={name}>
      <figcaption>
        <div className="chart-head">
          <h3>{title}</h3>
        </div>
        <p className="chart-help">{help}</p>
      </figcaption>
      <div className="heat-body" ref={body}>
        {error !== null && distribution === undefined ? (
          <Failure error={error} onRetry={reload} />
        ) : distribution === undefined ? (
          <Loading what={title.toLowerCase()} />
        ) : distribution === null ? (
          <p className="muted">
            {nothing[measure]}{" "}
            <button type="button" className="small" onClick={reload}>
              Reload
            </button>
          </p>
        ) : (
          <HeatMap
            title={title}
            measure={measure}
            distribution={distribution}
            onOpen={(cell) => navigate(Cells.address(run, distribution, measure, cell, environment))}
          />
        )}
      </div>
      <div className="chart-foot">
        {distribution !== undefined && distribution !== null && (
          <>
            <span className="muted chart-help">{Format.plural(distribution.groups, "group")}</span>
            <div className="chart-tools">
              <SaveMenu
                name={name}
                table={() => Cells.table(distribution)}
                picture={() => drawElements(body.current, name)}
              />
            </div>
          </>
        )}
      </div>
    </figure>
  )
}
