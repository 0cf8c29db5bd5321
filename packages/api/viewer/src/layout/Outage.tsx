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
          ? `“${run}” is done and its service has stopped. Showing the last data.`
          : "Lost connection to the service. Showing the last data; retrying…"}
      </span>
      <button type="button" className="small" onClick={reach.ask}>
        Retry now
      </button>
    </div>
  )
}
