/** Shows a page once its run exists; until then explains what is missing. Evaluations need no run. */
import type { ReactNode } from "react"
import { Link, useLocation } from "wouter"
import { runPath } from "../route/Location.ts"
import { useSource } from "../state/SourceContext.tsx"
import { useRuns } from "../state/useRun.tsx"
import { Empty, Failure, Loading } from "../ui/Note.tsx"

export const RunGate = ({ children }: { readonly children: ReactNode }) => {
  const { hasService, isLive, opens, stepOf } = useSource()
  const { run, runs } = useRuns()
  const [path] = useLocation()
  if (path.startsWith("/evaluations")) return children
  if (run !== null) {
    const isMissing = hasService && runs.value !== null && !runs.value.some(({ name }) => name === run)
    // A run that existed before has been deleted.
    const isStarting = run === opens && stepOf(run) === null
    return isMissing ? <Missing run={run} isStarting={isStarting} newest={runs.value[0]?.name} /> : children
  }
  if (runs.error !== null) return <Failure error={runs.error} onRetry={runs.reload} />
  if (runs.value === null) return <Loading what="runs" />
  if (!isLive) {
    return (
      <Empty title="No rollouts in this page">
        <p>Create a page with rollouts by process or view:</p>
        <pre>npx @atropos/cli view groups.jsonl --out page.html</pre>
      </Empty>
    )
  }
  return (
    <Empty title="No runs yet">
      <p>A run appears here once a trainer registers it. To train a small model from scratch on this machine:</p>
      <pre>npm start</pre>
    </Empty>
  )
}

const Missing = ({
  isStarting,
  newest,
  run
}: {
  readonly run: string
  /** True if the service's own process is about to train it. */
  readonly isStarting: boolean
  readonly newest: string | undefined
}) => (
  <Empty title={isStarting ? `“${run}” is starting` : `Run “${run}” not found`}>
    <p>
      {isStarting
        ? "Its model is being prepared. The page appears once its trainer registers the run."
        : "The service has no run of this name. It appears here once a trainer registers it."}
    </p>
    {newest !== undefined && (
      <Link className="button" href={runPath(newest)}>
        Go to {newest}
      </Link>
    )}
  </Empty>
)
