/**
 * Compares two rollouts of a group, initially the best and the worst: their common prefix, the point of divergence, and
 * their scores; and shows all rollouts as a tree of shared prefixes.
 */
import { useMemo } from "react"
import { Link } from "wouter"
import { groupPath } from "../../route/Location.ts"
import { useRemote } from "../../state/useRemote.ts"
import { number, plural } from "../../ui/Format.ts"
import { Loading } from "../../ui/Note.tsx"
import { useShortcuts } from "../../ui/useShortcuts.tsx"
import type { Group, Rollout } from "../model/Group.ts"
import * as Beginnings from "./Beginnings.ts"
import { BeginningTree } from "./BeginningTree.tsx"
import { Differences } from "./Differences.tsx"
import * as Sequences from "./Sequences.ts"
import "./compare.css"

interface ComparePageProps {
  readonly run: string
  readonly id: string
  readonly group: Group
  /** Best first. */
  readonly rollouts: ReadonlyArray<Rollout>
  readonly left: number | null
  readonly right: number | null
  readonly onChoose: (sides: { readonly rollout?: number; readonly with?: number }) => void
}

export const ComparePage = ({ group, id, left, onChoose, right, rollouts, run }: ComparePageProps) => {
  const ids = useMemo(() => [...new Set(group.rollouts.flatMap(({ tokens }) => tokens))], [group])
  const pieces = useRemote(`pieces ${run} ${id} all`, (source, signal) => source.pieces(run, ids, signal))
  const known = pieces.isStale ? null : pieces.value
  const sequences = useMemo(() => Sequences.of(group, known ?? {}), [group, known])
  const placeOf = (index: number | null, otherwise: number) => {
    const place = rollouts.findIndex((one) => one.index === index)
    return place === -1 ? otherwise : place
  }
  const onLeft = placeOf(left, 0)
  const worst = rollouts.length - 1
  const places = [onLeft, placeOf(right, onLeft === worst ? 0 : worst)] as const
  const selected = (place: number) => rollouts[Math.min(rollouts.length - 1, Math.max(0, place))]!.index
  useShortcuts("Comparison", [
    { keys: ["J"], label: "next rollout on the right", run: () => onChoose({ with: selected(places[1] + 1) }) },
    { keys: ["K"], label: "previous rollout on the right", run: () => onChoose({ with: selected(places[1] - 1) }) }
  ])
  if (pieces.isLoading && known === null) return <Loading what="text of tokens" />
  if (rollouts.length < 2) return <p className="note muted">Only one rollout in this group: nothing to compare.</p>
  const [one, other] = [rollouts[places[0]]!, rollouts[places[1]]!]
  return (
    <div className="compare" tabIndex={0} role="region" aria-label="Rollout comparison" data-scrolls>
      <div className="compare-sides">
        <Side name="Left" rollouts={rollouts} selected={one.index} onChoose={(rollout) => onChoose({ rollout })} />
        <Side name="Right" rollouts={rollouts} selected={other.index} onChoose={(other) => onChoose({ with: other })} />
      </div>
      {one.index === other.index ? (
        <p className="muted">Same rollout on both sides: select another.</p>
      ) : (
        <>
          <Parting run={run} id={id} sequences={sequences} left={one} right={other} />
          <Differences left={one} right={other} />
        </>
      )}
      <BeginningTree run={run} id={id} group={group} sequences={sequences} onCompare={onChoose} />
    </div>
  )
}

const scoreOf = ({ score }: Rollout): string => (score === null ? "no score" : `score ${number(score, 3)}`)

const Side = ({
  name,
  onChoose,
  rollouts,
  selected
}: {
  readonly name: string
  readonly rollouts: ReadonlyArray<Rollout>
  readonly selected: number
  readonly onChoose: (rollout: number) => void
}) => (
  <label>
    <span>{name}</span>
    <select value={selected} onChange={({ target }) => onChoose(Number(target.value))}>
      {rollouts.map((rollout, place) => (
        <option key={rollout.index} value={rollout.index}>
          {`rollout ${rollout.index + 1}, ${scoreOf(rollout)}`}
          {place === 0 ? " (best)" : place === rollouts.length - 1 ? " (worst)" : ""}
        </option>
      ))}
    </select>
  </label>
)

/** Units shown before and after the divergence. */
const before = 60
const after = 600

interface PartingProps {
  readonly run: string
  readonly id: string
  readonly sequences: Sequences.Sequences
  readonly left: Rollout
  readonly right: Rollout
}

const Parting = ({ id, left, right, run, sequences }: PartingProps) => {
  const { text, unit, units } = sequences
  const at = Beginnings.firstDifference(units[left.index]!, units[right.index]!)
  const start = Math.max(0, at - before)
  const isSame = at >= units[left.index]!.length && at >= units[right.index]!.length
  return (
    <section className="parting" aria-labelledby="parting-title">
      <h2 id="parting-title">
        {isSame ? "They are identical" : at === 0 ? "They differ from the start" : `They diverge at ${unit} ${at + 1}`}
      </h2>
      <p role="status">{toldOf(left, right, sequences, at)}</p>
      {at > 0 && (
        <pre className="parting-shared" aria-label="Shared prefix" tabIndex={0}>
          {start > 0 && <span className="muted">… </span>}
          {text(left.index, start, at)}
        </pre>
      )}
      {!isSame && (
        <div className="parting-sides">
          {[left, right].map((rollout) => (
            <div key={rollout.index}>
              <h3>
                {unit === "token" ? (
                  <Link href={groupPath(run, id, { rollout: rollout.index, view: "tokens", token: at })}>
                    Rollout {rollout.index + 1} at token {at + 1}
                  </Link>
                ) : (
                  `Rollout ${rollout.index + 1}`
                )}
                <span className="muted">{scoreOf(rollout)}</span>
              </h3>
              <pre tabIndex={0} aria-label={`Continuation of rollout ${rollout.index + 1}`}>
                <mark>{text(rollout.index, at, at + 1) || "(end)"}</mark>
                {text(rollout.index, at + 1, at + after)}
                {units[rollout.index]!.length > at + after && <span className="muted"> …</span>}
              </pre>
            </div>
          ))}
        </div>
      )}
    </section>
  )
}

const probability = (logprob: number | undefined): string =>
  logprob === undefined || !(logprob <= 0.5) ? "" : ` (probability ${number(Math.exp(Math.min(0, logprob)), 2)})`

const toldOf = (left: Rollout, right: Rollout, { text, unit, units }: Sequences.Sequences, at: number): string => {
  const sides = [left, right].map((rollout) => {
    if (at >= units[rollout.index]!.length) return `rollout ${rollout.index + 1} ends there`
    const quoted = JSON.stringify(text(rollout.index, at, at + 1).slice(0, 80))
    return `rollout ${rollout.index + 1} has ${quoted}${unit === "token" ? probability(rollout.logprobs?.[at]) : ""}`
  })
  const length = at === 0 ? "No shared prefix" : `The first ${plural(at, unit)} are identical`
  if (sides.every((side) => side.endsWith("ends there"))) return `${length}, and both end there.`
  return `${length}. Then ${sides.join(", ")}.`
}
