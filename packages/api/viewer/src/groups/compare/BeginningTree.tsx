/**
 * Shows the rollouts as a tree of shared prefixes, one per session: sub-agents and rewritten histories are branches of
 * it. Branches are rendered when opened.
 */
import { useMemo, useRef, useState } from "react"
import { Link } from "wouter"
import { groupPath } from "../../route/Location.ts"
import { drawElements } from "../../save/ElementPicture.ts"
import { SaveMenu } from "../../save/SaveMenu.tsx"
import { number, plural } from "../../ui/Format.ts"
import type { Group } from "../model/Group.ts"
import * as Beginnings from "./Beginnings.ts"
import * as Sequences from "./Sequences.ts"
import type * as Save from "../../save/Save.ts"

/** Converts the tree of shared prefixes to a table for saving: one row per span, after its parent. Pure. */
interface Session {
  readonly name: string | null
  readonly trees: ReadonlyArray<Beginnings.Beginning>
}

/** Mean over the rollouts with scores; null if none has one. */
const meanScore = ({ rollouts }: Group, members: ReadonlyArray<number>): number | null => {
  const scores = members.flatMap((member) => rollouts[member]?.score ?? [])
  return scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length
}

const numbersOf = (members: ReadonlyArray<number>): string => members.map((member) => member + 1).join(" ")

const tableOfBeginnings = (
  sessions: ReadonlyArray<Session>,
  group: Group,
  { text, unit }: Sequences.Sequences
): Save.Table => {
  /** Paths of branches from the root: `1.2` is the second continuation of the first branch. */
  const rowsOf = (
    branches: ReadonlyArray<Beginnings.Beginning>,
    session: string | null,
    above: string
  ): ReadonlyArray<ReadonlyArray<Save.Value>> =>
    branches.flatMap(({ ending, from, members, next, to }, at) => {
      const place = `${above}${at + 1}`
      const own = [place, session, from + 1, to, meanScore(group, members), numbersOf(members), numbersOf(ending)]
      return [[...own, text(members[0]!, from, to)], ...rowsOf(next, session, `${place}.`)]
    })
  return {
    columns: ["branch", "session", `from_${unit}`, `to_${unit}`, "mean_score", "rollouts", "ending", "text"],
    rows: sessions.flatMap(({ name, trees }) => rowsOf(trees, name, ""))
  }
}

interface TreeProps {
  readonly run: string
  readonly id: string
  readonly group: Group
  readonly sequences: Sequences.Sequences
  readonly onCompare: (sides: { readonly rollout: number; readonly with: number }) => void
}

export const BeginningTree = (props: TreeProps) => {
  const { group, id, sequences } = props
  const section = useRef<HTMLElement>(null)
  const sessions = useMemo(
    () =>
      Sequences.sessionsOf(group).map(({ members, name }) => ({
        name,
        members,
        trees: Beginnings.of(sequences.units, members)
      })),
    [group, sequences]
  )
  return (
    <section className="beginnings" ref={section} aria-labelledby="beginnings-title">
      <h2 id="beginnings-title" data-no-picture="">
        Shared prefixes
      </h2>
      <p className="muted">Shared spans and their continuations, most common first.</p>
      {sessions.map(({ members, name, trees }) => (
        <div key={name ?? ""}>
          {name !== null && (
            <h3>
              Session {name}{" "}
              <span className="muted">
                {plural(members.length, "sequence")}, {plural(trees.length, "conversation")}
              </span>
            </h3>
          )}
          <Branches {...props} branches={trees} depth={0} />
        </div>
      ))}
      <div className="table-foot">
        <SaveMenu
          name={`prefixes of group ${id}`}
          table={() => tableOfBeginnings(sessions, group, sequences)}
          picture={() => drawElements(section.current, `Prefixes of group ${id}`)}
        />
      </div>
    </section>
  )
}

const atOnce = 12
const openDepth = 3

type BranchesProps = TreeProps & { readonly branches: ReadonlyArray<Beginnings.Beginning>; readonly depth: number }

const Branches = ({ branches, depth, ...props }: BranchesProps) => {
  const [max, setMax] = useState(atOnce)
  return (
    <ul className="branches">
      {branches.slice(0, max).map((branch) => (
        <Branch key={branch.members[0]} {...props} branch={branch} depth={depth} />
      ))}
      {branches.length > max && (
        <li>
          <button type="button" className="small" onClick={() => setMax(max + 10 * atOnce)}>
            {plural(branches.length - max, "more branch", "more branches")}
          </button>
        </li>
      )}
    </ul>
  )
}

/** Max characters of a span: its beginning and end. */
const shownText = 280

const cut = (text: string): string =>
  text.length <= shownText ? text : `${text.slice(0, shownText / 2)} … ${text.slice(-shownText / 2)}`

/** Only the ends of a long span are decoded. */
const textOf = ({ text }: Sequences.Sequences, member: number, from: number, to: number): string =>
  to - from <= shownText
    ? text(member, from, to)
    : `${text(member, from, from + shownText)}${text(member, to - shownText, to)}`

const Branch = ({
  branch,
  depth,
  ...props
}: TreeProps & { readonly branch: Beginnings.Beginning; readonly depth: number }) => {
  const { group, id, onCompare, run, sequences } = props
  const { ending, from, members, next, to } = branch
  const [isOpen, setIsOpen] = useState(depth < openDepth)
  const mean = meanScore(group, members)
  const [one, other] = [next[0]?.members[0], next[1]?.members[0] ?? ending[0]]
  return (
    <li>
      <p className="branch-head">
        <strong>{plural(members.length, "rollout")}</strong>
        <span className="muted">
          {sequences.unit}s {from + 1} to {to}
        </span>
        {mean !== null && (
          <span className="number">
            {members.length === 1 ? "score" : "mean score"} {number(mean, 3)}
          </span>
        )}
        {ending.map((member) => (
          <Link key={member} href={groupPath(run, id, { rollout: member, view: "tokens" })}>
            rollout {member + 1}
          </Link>
        ))}
        {one !== undefined && other !== undefined && (
          <button
            type="button"
            className="small quiet"
            data-no-picture=""
            onClick={() => onCompare({ rollout: one, with: other })}
          >
            compare {one + 1} with {other + 1}
          </button>
        )}
      </p>
      <pre tabIndex={-1}>{cut(textOf(sequences, members[0]!, from, to))}</pre>
      {next.length > 0 && (
        <details open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
          <summary>{plural(next.length, "branch", "branches")}</summary>
          {isOpen && <Branches {...props} branches={next} depth={depth + 1} />}
        </details>
      )}
    </li>
  )
}
