/** Shows a page once there is a run to look at; until then says what is missing. Evaluations need none. */
import type { ReactNode } from "react"
import { useLocation } from "wouter"
import { useSource } from "../state/SourceContext.tsx"
import { useRuns } from "../state/useRun.tsx"
import { Empty, Failure, Loading } from "../ui/Note.tsx"

export const RunGate = ({ children }: { readonly children: ReactNode }) => {
  const { isLive } = useSource()
  const { run, runs } = useRuns()
  const [path] = useLocation()
  if (run !== null || path.startsWith("/evaluations")) return children
  if (runs.error !== null) return <Failure error={runs.error} onRetry={runs.reload} />
  if (runs.value === null) return <Loading what="runs" />
  if (!isLive) {
    return (
      <Empty title="This page holds no rollouts">
        <p>Pages with rollouts in them are written by process and view:</p>
        <pre>npx @atropos/cli view groups.jsonl --out page.html</pre>
      </Empty>
    )
  }
  return (
    <Empty title="No runs yet">
      <p>A run appears here once a trainer registers it. This trains a small model from scratch, on this machine:</p>
      <pre>npm start</pre>
    </Empty>
  )
}
