/** Shows a banner while the service does not answer and the data is the last received. */
import { useSource } from "../state/SourceContext.tsx"
import { useIsAway } from "../state/useReach.ts"
import { useIsDone, useRuns } from "../state/useRun.tsx"

export const Outage = () => {
  const { reach } = useSource()
  const { run } = useRuns()
  const isDone = useIsDone()
  if (!useIsAway()) return null
  return (
    <div className={isDone ? "outage is-done" : "outage"} role="status">
      <span>
        {isDone
          ? `Done: “${run}” has taken all its steps, and its service has ended. This is the last that came.`
          : "The service does not answer: it was stopped, or cannot be reached. This is the last that came; it is asked again."}
      </span>
      <button type="button" className="small" onClick={reach.ask}>
        Ask now
      </button>
    </div>
  )
}
