/** Selects a rollout of a group, best first. */
import { useEffect, useRef } from "react"
import { number } from "../ui/Format.ts"
import type { Rollout } from "./model/Group.ts"

export const RolloutPicker = ({
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
