/**
 * The runs of the source, and the one being looked at: the one the address names (`?run=`, or the path of a group), else the first,
 * where something happened last when the page was opened.
 */
import { createContext, type ReactNode, useContext, useEffect, useState } from "react"
import { useRoute } from "wouter"
import { decode } from "../route/Location.ts"
import { useSearch } from "../route/useHash.ts"
import type * as Wire from "../source/Wire.ts"
import { useSource } from "./SourceContext.tsx"
import { type Remote, useRemote } from "./useRemote.ts"

interface Runs {
  readonly runs: Remote<ReadonlyArray<Wire.Run>>
  /** Null while unknown, and where there is no run. */
  readonly run: string | null
}

const RunContext = createContext<Runs | null>(null)

/** Runs begin and end while somebody looks. */
const runsEveryMillis = 10_000

export const RunProvider = ({ children }: { readonly children: ReactNode }) => {
  const runs = useRemote("runs", (source, signal) => source.runs(signal))
  const { isLive } = useSource()
  const { reload } = runs
  const isRefused = runs.error?.kind === "unauthorized"
  useEffect(() => {
    if (!isLive || isRefused) return
    const timer = setInterval(reload, runsEveryMillis)
    return () => clearInterval(timer)
  }, [isLive, isRefused, reload])
  const search = useSearch()
  const [, group] = useRoute("/groups/:run/:id")
  const named = group === null ? search.get("run") : decode(group.run)
  // Of several runs that train at once, now one and now another comes first: the page stays with the one it began with.
  const [first, setFirst] = useState<string | null>(null)
  const names = runs.value?.map(({ name }) => name)
  if (names?.[0] !== undefined && (first === null || !names.includes(first))) setFirst(names[0])
  return <RunContext.Provider value={{ runs, run: named ?? first }}>{children}</RunContext.Provider>
}

export const useRuns = (): Runs => {
  const runs = useContext(RunContext)
  if (runs === null) throw new Error("useRuns stands outside of a RunProvider")
  return runs
}

/** The run being looked at. Pages stand inside `RunGate`, where there is one. */
export const useRun = (): string => {
  const { run } = useRuns()
  if (run === null) throw new Error("a page stands outside of RunGate")
  return run
}
