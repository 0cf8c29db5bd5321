/** Lists all notes of a run with links to their rollouts. */
import { useMemo, useState } from "react"
import { Link } from "wouter"
import { groupPath } from "../route/Location.ts"
import * as Save from "../save/Save.ts"
import { type Column, DataTable } from "../ui/DataTable.tsx"
import type * as Wire from "../source/Wire.ts"
import { useRun } from "../state/useRun.tsx"
import { Ago } from "../ui/Ago.tsx"
import { plural } from "../ui/Format.ts"
import { Empty, Loading } from "../ui/Note.tsx"
import { useTitle } from "../ui/useTitle.ts"
import { useNotes } from "./NotesContext.tsx"
import "./notes.css"

const columnsOf = (run: string): ReadonlyArray<Column<Wire.Note>> => [
  {
    id: "rollout",
    title: "Rollout",
    value: ({ group, rollout }) => `${group}/${rollout ?? ""}`,
    cell: ({ group, rollout }) => (
      <Link href={groupPath(run, group, { rollout })}>
        {rollout === null ? `group ${group}` : `rollout ${rollout + 1} of group ${group}`}
      </Link>
    )
  },
  {
    id: "bookmarked",
    title: "Bookmark",
    value: ({ bookmarked }) => (bookmarked ? "yes" : null),
    cell: ({ bookmarked }) => (bookmarked ? "★" : "–")
  },
  {
    id: "labels",
    title: "Labels",
    value: ({ labels }) => labels.join(", ") || null,
    cell: ({ labels }) =>
      labels.length === 0
        ? "–"
        : labels.map((label) => (
            <span key={label} className="note-label">
              {label}
            </span>
          ))
  },
  {
    id: "text",
    title: "Note",
    value: ({ text }) => text || null,
    cell: ({ text }) => <span className="note-words">{text}</span>
  },
  { id: "at", title: "Changed", isNumber: true, value: ({ at }) => at, cell: ({ at }) => <Ago at={at} /> }
]

export const NotesPage = () => {
  const run = useRun()
  useTitle("Notes", run)
  const notes = useNotes()
  const [label, setLabel] = useState("")
  const columns = useMemo(() => columnsOf(run), [run])
  if (!notes.isKept) {
    return (
      <Empty title="Files have no notes">
        <p>Notes are stored by the service: open the run there.</p>
      </Empty>
    )
  }
  if (notes.all === null) return <Loading what="notes" />
  const labels = [...new Set(notes.all.flatMap((note) => note.labels))].sort()
  const visible = label === "" ? notes.all : notes.all.filter((note) => note.labels.includes(label))
  return (
    <div className="page notes-page">
      <div className="section-head">
        <h1>Notes</h1>
        <p className="muted" role="status">
          {notes.problem ?? plural(visible.length, "rollout")}
        </p>
        {labels.length > 0 && (
          <label className="notes-filter">
            Label
            <select value={label} onChange={({ target }) => setLabel(target.value)}>
              <option value="">all</option>
              {labels.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        {visible.length > 0 && (
          <button
            type="button"
            onClick={() => Save.text(`notes-${run}.jsonl`, Save.jsonLines(visible.map((note) => ({ run, ...note }))))}
          >
            Save as JSONL
          </button>
        )}
      </div>
      {notes.all.length === 0 ? (
        <Empty title="No notes yet">
          <p>
            In a group, <kbd>b</kbd> bookmarks a rollout and <kbd>a</kbd> adds a note with labels.
          </p>
        </Empty>
      ) : (
        <DataTable
          caption="Notes"
          columns={columns}
          rows={visible}
          rowKey={({ group, rollout }) => `${group}/${rollout ?? ""}`}
        />
      )}
    </div>
  )
}
