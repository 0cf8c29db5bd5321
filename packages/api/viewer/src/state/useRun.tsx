/**
 * Provides the runs of the source and the current one, named by the address (`?run=`, or the path of a group). Without
 * a name it is the run of the service's own process, otherwise the first, most recently active one, which is then
 * written to the address, so that it stays the same when reopened.
 */
import { createContext, type ReactNode, useContext, useEffect } from "react"
import { useLocation, useRoute } from "wouter"
import { decode } from "../route/Location.ts"
import { useSearch, useSetSearch } from "../route/useHash.ts"
import type * as Wire from "../source/Wire.ts"
import { useSource } from "./SourceContext.tsx"
import { type Remote, useRemote } from "./useRemote.ts"

interface Runs {
  readonly runs: Remote<ReadonlyArray<Wire.Run>>
  /** Null while unknown, and without runs. */
  readonly run: string | null
}

const RunContext = createContext<Runs | null>(null)

/** Pages with the run in their parameters. */
const ofRuns: ReadonlySet<string> = new Set(["/", "/groups", "/hacking", "/notes", "/evaluations", "/service"])

/** Runs start and end while the page is open. */
const runsEveryMillis = 10_000
/** Polls faster while the current run, or any, does not exist yet. */
const firstEveryMillis = 1000

export const RunProvider = ({ children }: { readonly children: ReactNode }) => {
  const runs = useRemote("runs", (source, signal) => source.runs(signal))
  const { isLive, opens } = useSource()
  const { reload } = runs
  const search = useSearch()
  const [path] = useLocation()
  const setSearch = useSetSearch()
  const [, group] = useRoute("/groups/:run/:id")
  const named = group === null ? search.get("run") || null : decode(group.run)
  const first = opens ?? runs.value?.[0]?.name ?? null
  const run = named ?? first
  const isRefused = runs.error?.kind === "unauthorized"
  const isAwaited = runs.value !== null && !runs.value.some(({ name }) => name === run)
  const every = isAwaited ? firstEveryMillis : runsEveryMillis
  useEffect(() => {
    if (!isLive || isRefused) return
    const timer = setInterval(reload, every)
    return () => clearInterval(timer)
  }, [every, isLive, isRefused, reload])
  const isOpen = named === null && first !== null && ofRuns.has(path)
  useEffect(() => {
    if (isOpen) setSearch({ run: first }, { replace: true })
  })
  return <RunContext.Provider value={{ runs, run }}>{children}</RunContext.Provider>
}

export const useRuns = (): Runs => {
  const runs = useContext(RunContext)
  if (runs === null) throw new Error("useRuns needs a RunProvider")
  return runs
}

/** True if the current run has done all steps planned by its trainer. */
export const useIsDone = (): boolean => {
  const { stepOf } = useSource()
  const { run, runs } = useRuns()
  const total = runs.value?.find(({ name }) => name === run)?.num_steps ?? 0
  return run !== null && total > 0 && (stepOf(run) ?? 0) >= total
}

/** The current run. Pages are inside `RunGate`, which ensures one. */
export const useRun = (): string => {
  const { run } = useRuns()
  if (run === null) throw new Error("useRun needs a RunGate")
  return run
}
