/** Shows what is missing before the first step, and how to provide it, instead of charts. */
import { type ReactNode, useState } from "react"
import { Link } from "wouter"
import { standingOf } from "../service/Shares.ts"
import { useNow } from "../state/useNow.ts"
import { usePolled } from "../state/usePolled.ts"
import { servicePath } from "../route/Location.ts"
import type * as Wire from "../source/Wire.ts"
import { useLive } from "../state/useLive.ts"
import * as Format from "../ui/Format.ts"
import { Empty } from "../ui/Note.tsx"

export const Waiting = ({ run }: { readonly run: Wire.Run }) => {
  const environments = usePolled(`environments:${run.name}`, (source, signal) => source.environments(run.name, signal))
  const [summary, setSummary] = useState<Wire.QueueSummary | null>(null)
  useLive<Wire.QueueSummary>(run.name, (source, watcher) => source.watchSummary(run.name, watcher), setSummary)
  const now = useNow()
  const connected = environments.value?.filter((one) => standingOf(one, now).standing === "connected").length ?? 0
  const sequences = summary?.queued_sequences ?? 0
  const batches = (summary?.formed_batches ?? 0) + (summary?.leased_batches ?? 0)
  return (
    <Empty title="Waiting for the first step">
      <p>The curves of “{run.name}” start after its trainer's first step.</p>
      <ul className="steps-to-go">
        <Item isDone={run.registered}>
          {run.registered ? (
            "Trainer registered."
          ) : (
            <>
              No trainer registered: start one (<code>npx @atropos/cli train</code>).
            </>
          )}
        </Item>
        <Item isDone={connected > 0}>
          {connected > 0 ? (
            `${Format.plural(connected, "environment")} connected.`
          ) : (
            <>
              No environment connected: start one (<code>npx @atropos/cli serve --env …</code>).
            </>
          )}
        </Item>
        <Item isDone={batches > 0}>
          {batches > 0
            ? "First batch ready; the trainer is working on it."
            : `${Format.count(sequences)} of ${Format.plural(run.batch_size, "sequence")} of the first batch.`}
        </Item>
      </ul>
      {run.activity?.errors.map(({ environment, message }) => (
        <p key={environment}>
          Last error of {environment}: {message}
        </p>
      ))}
      <p>
        <Link href={servicePath(run.name)}>The service page</Link> shows environments, inference servers and the queue.
      </p>
    </Empty>
  )
}

const Item = ({ children, isDone }: { readonly isDone: boolean; readonly children: ReactNode }) => (
  <li className={isDone ? "done" : "open"}>
    <span aria-hidden="true">{isDone ? "✓" : "○"}</span>
    <span>
      <span className="sr-only">{isDone ? "Done: " : "Missing: "}</span>
      {children}
    </span>
  </li>
)
