/** Shows a rollout's bookmark, labels and note. */
import { useState } from "react"
import { Icon } from "../ui/Icon.tsx"
import { NoteDialog } from "./NoteDialog.tsx"
import { useNotes } from "./NotesContext.tsx"
import "./notes.css"

interface NoteToolsProps {
  readonly group: string
  readonly rollout: number
}

export const NoteTools = ({ group, rollout }: NoteToolsProps) => {
  const notes = useNotes()
  const [isOpen, setIsOpen] = useState(false)
  if (!notes.isKept) return null
  const note = notes.of(group, rollout)
  return (
    <>
      <button
        type="button"
        className="quiet small icon-button"
        aria-pressed={note.bookmarked}
        aria-label={`Bookmark rollout ${rollout + 1}`}
        title="Bookmark (b)"
        onClick={() => notes.write(group, rollout, { ...note, bookmarked: !note.bookmarked })}
      >
        <Icon name="bookmark" />
      </button>
      <button
        type="button"
        className="quiet small icon-button"
        aria-label={`Note on rollout ${rollout + 1}`}
        title="Note (a)"
        onClick={() => setIsOpen(true)}
      >
        <Icon name="note" />
      </button>
      {isOpen && <NoteDialog group={group} rollout={rollout} onClose={() => setIsOpen(false)} />}
    </>
  )
}

export const NoteText = ({ group, rollout }: NoteToolsProps) => {
  const { labels, text } = useNotes().of(group, rollout)
  if (labels.length === 0 && text === "") return null
  return (
    <div className="note-text">
      {labels.map((label) => (
        <span key={label} className="note-label">
          {label}
        </span>
      ))}
      {text !== "" && <p>{text}</p>}
    </div>
  )
}
