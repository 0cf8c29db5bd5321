/** Shows the service for one run, live: queue, environments, inference servers, console, batches. */
import { type ReactNode, useState } from "react"
import type * as Wire from "../source/Wire.ts"
import { useSource } from "../state/SourceContext.tsx"
import { type Live, useLive } from "../state/useLive.ts"
import type { Remote } from "../state/useRemote.ts"
import { useIsDone, useRun, useRuns } from "../state/useRun.tsx"
import { Empty, Failure, Loading } from "../ui/Note.tsx"
import { Batches } from "./Batches.tsx"
import { ConsoleOutput } from "./ConsoleOutput.tsx"
import { Environments } from "./Environments.tsx"
import { Queue } from "./Queue.tsx"
import { Servers } from "./Servers.tsx"
import { useNow } from "../state/useNow.ts"
import { usePolled } from "../state/usePolled.ts"
import "./service.css"

export const ServicePage = () => {
  const { hasService } = useSource()
  const run = useRun()
  // Another run starts fresh, without the previous one's data.
  return hasService ? <Service key={run} run={run} /> : <Empty title="Files have no service" />
}

const Service = ({ run }: { readonly run: string }) => {
  const { runs } = useRuns()
  const now = useNow()
  const environments = usePolled(`environments:${run}`, (source, signal) => source.environments(run, signal))
  const batches = usePolled(`batches:${run}`, (source, signal) => source.batches(run, signal))
  const console = usePolled("console", (source, signal) => source.console(signal))
  const [summary, setSummary] = useState<Wire.QueueSummary | null>(null)
  const live = useLive<Wire.QueueSummary>(run, (source, watcher) => source.watchSummary(run, watcher), setSummary)
  const own = runs.value?.find(({ name }) => name === run)
  const batchSize = own?.batch_size ?? null
  const isDone = useIsDone()
  const isEnded = isDone || own?.activity?.state === "stopped" || own?.activity?.state === "done"
  return (
    <div className="page service-page">
      <h1 className="sr-only">Service of {run}</h1>
      <Part title="Queue" note={<Liveness live={live} />}>
        {summary === null ? (
          live.problem === null ? (
            <Loading what="queue" />
          ) : (
            <Failure error={live.problem} />
          )
        ) : (
          <Queue summary={summary} batchSize={batchSize} />
        )}
      </Part>
      <Part title="Environments">
        <Loaded remote={environments} what="environments">
          {(value) => <Environments environments={value} now={now} isEnded={isEnded} />}
        </Loaded>
      </Part>
      <Part title="Inference servers">
        <Loaded remote={environments} what="servers">
          {(value) => <Servers environments={value} now={now} />}
        </Loaded>
      </Part>
      <Part title="Console">
        <Loaded remote={console} what="console">
          {(value) => <ConsoleOutput lines={value.lines} />}
        </Loaded>
      </Part>
      <Part title="Batches">
        <Loaded remote={batches} what="batches">
          {(value) => <Batches batches={value} now={now} />}
        </Loaded>
      </Part>
    </div>
  )
}

const Part = ({
  children,
  note,
  title
}: {
  readonly title: string
  readonly note?: ReactNode
  readonly children: ReactNode
}) => (
  <section className="service-part">
    <div className="section-head">
      <h2>{title}</h2>
      {note}
    </div>
    {children}
  </section>
)

/** Keeps the last data on the page if loading fails, with a note unless the outage banner is shown. */
const Loaded = <A,>({
  children,
  remote: { error, reload, value },
  what
}: {
  readonly remote: Remote<A>
  readonly what: string
  readonly children: (value: A) => ReactNode
}) => {
  if (value === null) return error === null ? <Loading what={what} /> : <Failure error={error} onRetry={reload} />
  return (
    <>
      {error !== null && error.kind !== "unreachable" && (
        <p className="bad" role="status">
          Showing the last data: {error.message}
        </p>
      )}
      {children(value)}
    </>
  )
}

const words: { readonly [State in Live["state"]]: string } = {
  connecting: "connecting",
  live: "live",
  waiting: "interrupted",
  static: ""
}

const Liveness = ({ live: { state } }: { readonly live: Live }) => {
  const isDone = useIsDone()
  const { run, runs } = useRuns()
  const activity = runs.value?.find(({ name }) => name === run)?.activity
  const isKnown = state === "live" && activity !== undefined
  return (
    <span className={`liveness muted ${state} ${isKnown ? `is-${activity.state}` : ""}`} role="status">
      {isKnown ? activity.state : isDone && state !== "live" ? "done" : words[state]}
    </span>
  )
}
