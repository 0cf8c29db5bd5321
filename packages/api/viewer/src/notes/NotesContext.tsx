/**
 * Holds the notes of the current run: loaded on first use, shared by the whole page, updated immediately and then
 * written to the service.
 */
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react"
import type * as Wire from "../source/Wire.ts"
import { useSource } from "../state/SourceContext.tsx"
import { useRemote } from "../state/useRemote.ts"
import { useRuns } from "../state/useRun.tsx"

export type Change = Pick<Wire.Note, "bookmarked" | "labels" | "text">

export interface Notes {
  readonly isKept: boolean
  /** Most recently changed first; null while loading. */
  readonly all: ReadonlyArray<Wire.Note> | null
  readonly problem: string | null
  readonly of: (group: string, rollout: number | null) => Change
  /** Number of notes on a group and its rollouts. */
  readonly countOf: (group: string) => number
  readonly write: (group: string, rollout: number | null, change: Change) => void
}

const nothing: Change = { bookmarked: false, labels: [], text: "" }

const NotesContext = createContext<Notes | null>(null)

const keyOf = (group: string, rollout: number | null): string => `${group}/${rollout ?? ""}`

const saysNothing = ({ bookmarked, labels, text }: Change): boolean => !bookmarked && labels.length === 0 && text === ""

export const NotesProvider = ({ children }: { readonly children: ReactNode }) => {
  const { notes: kept } = useSource()
  const { run } = useRuns()
  const remote = useRemote(kept === null || run === null ? null : `notes ${run}`, (source, signal) =>
    source.notes!.list(run!, signal)
  )
  const [changed, setChanged] = useState<{
    readonly run: string | null
    readonly notes: ReadonlyMap<string, Wire.Note>
  }>({ run: null, notes: new Map() })
  const [problem, setProblem] = useState<string | null>(null)
  const own = changed.run === run ? changed.notes : null
  const listed = remote.isStale ? null : remote.value
  const byKey = useMemo(() => {
    const all = new Map((listed ?? []).map((note) => [keyOf(note.group, note.rollout), note]))
    for (const [key, note] of own ?? []) all.set(key, note)
    return all
  }, [listed, own])
  const counts = useMemo(() => {
    const filled = [...byKey.values()].filter((note) => !saysNothing(note))
    return Map.groupBy(filled, ({ group }) => group)
  }, [byKey])

  const write = useCallback(
    (group: string, rollout: number | null, change: Change) => {
      if (kept === null || run === null) return
      const note = { group, rollout, at: Date.now(), ...change }
      const key = keyOf(group, rollout)
      const before = byKey.get(key) ?? { ...note, ...nothing }
      const put = (note: Wire.Note) =>
        setChanged((changed) => ({
          run,
          notes: new Map(changed.run === run ? changed.notes : []).set(key, note)
        }))
      put(note)
      kept.write(run, group, { rollout, ...change }).then(
        () => setProblem(null),
        (cause: unknown) => {
          put(before)
          setProblem(cause instanceof Error ? cause.message : String(cause))
        }
      )
    },
    [kept, run, byKey]
  )

  const value = useMemo(
    (): Notes => ({
      isKept: kept !== null,
      all:
        kept !== null && listed === null && remote.error === null
          ? null
          : [...byKey.values()].filter((note) => !saysNothing(note)).sort((left, right) => right.at - left.at),
      problem: problem ?? remote.error?.message ?? null,
      of: (group, rollout) => byKey.get(keyOf(group, rollout)) ?? nothing,
      countOf: (group) => counts.get(group)?.length ?? 0,
      write
    }),
    [kept, listed, remote.error, problem, byKey, counts, write]
  )
  return <NotesContext.Provider value={value}>{children}</NotesContext.Provider>
}

export const useNotes = (): Notes => {
  const notes = useContext(NotesContext)
  if (notes === null) throw new Error("useNotes needs a NotesProvider")
  return notes
}
