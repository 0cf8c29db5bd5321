/** Shows the toolbar above a group's rollouts: view, text mode, rollout selection, and copying. */
import { CopyButton, type CopyState } from "../ui/Copy.tsx"
import type { Rollout } from "./model/Group.ts"
import { useEffect, useRef } from "react"
import { number } from "../ui/Format.ts"

/** Selects a rollout of a group, best first. */
const RolloutPicker = ({
  current,
  onChoose,
  rollouts
}: {
  readonly rollouts: ReadonlyArray<Rollout>
  readonly current: number | null
  readonly onChoose: (place: number) => void
}) => {
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => {
    ref.current?.querySelector('[aria-pressed="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" })
  }, [current])
  return (
    <div className="picker" role="group" aria-label="Rollouts, best first" ref={ref}>
      {rollouts.map(({ index, score }, place) => (
        <button
          type="button"
          key={index}
          className="small number"
          aria-pressed={index === current}
          aria-label={`Rollout ${index + 1}, score ${score ?? "none"}`}
          onClick={() => onChoose(place)}
        >
          {score === null ? "–" : number(score, 3)}
        </button>
      ))}
    </div>
  )
}

export type GroupView = "messages" | "tokens" | "compare" | "times"

const views: ReadonlyArray<readonly [view: GroupView, label: string]> = [
  ["messages", "Messages"],
  ["tokens", "Tokens"],
  ["compare", "Compare"],
  ["times", "Times"]
]

interface GroupBarProps {
  readonly rollouts: ReadonlyArray<Rollout>
  /** Index of the selected rollout. */
  readonly current: number | null
  readonly view: GroupView
  readonly onView: (view: GroupView) => void
  readonly reading: { readonly isSource: boolean; readonly unfolds: boolean }
  /** Null if no message has reasoning. */
  readonly onReasoning: (() => void) | null
  readonly onSource: () => void
  readonly onChoose: (place: number) => void
  readonly raw: unknown
  /** Result of the last copy of a rollout. */
  readonly copied: CopyState
}

export const GroupBar = ({
  copied,
  current,
  onChoose,
  onReasoning,
  onSource,
  onView,
  raw,
  reading,
  rollouts,
  view
}: GroupBarProps) => (
  <div className="group-bar">
    <div className="segmented" role="group" aria-label="View">
      {views
        .filter(
          ([name]) =>
            (name !== "compare" || rollouts.length > 1) &&
            (name !== "times" || view === "times" || rollouts.some(({ timings }) => timings !== null))
        )
        .map(([name, label]) => (
          <button key={name} type="button" className="small" aria-pressed={view === name} onClick={() => onView(name)}>
            {label}
          </button>
        ))}
    </div>
    {view === "messages" && (
      <>
        {onReasoning !== null && (
          <button type="button" className="small" aria-pressed={reading.unfolds} onClick={onReasoning}>
            Reasoning
          </button>
        )}
        <button type="button" className="small" aria-pressed={reading.isSource} onClick={onSource}>
          Raw text
        </button>
      </>
    )}
    {rollouts.length > 1 && <RolloutPicker rollouts={rollouts} current={current} onChoose={onChoose} />}
    <div className="group-tools">
      <span role="status" className="muted">
        {copied === "copied" ? "Rollout copied" : copied === "refused" ? "Copy failed" : ""}
      </span>
      <CopyButton icon="link" label="Copy link" text={() => window.location.href} />
      <CopyButton label="Copy JSON" text={() => JSON.stringify(raw)} />
    </div>
  </div>
)
